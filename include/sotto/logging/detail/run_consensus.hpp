#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/strategies/consensus_report.hpp"

namespace sotto::detail {

/// The mean of what was measured, of which there may be nothing.
struct measured_mean {
    double sum = 0.0;        // of those that are finite
    std::int64_t count = 0;  // of these

    /// Takes a value in; one that is not finite is none.
    void add(double value) noexcept {
        if (!is_finite(value)) return;
        sum += value;
        ++count;
    }
    /// Takes all of another one's in.
    void merge(const measured_mean& other) noexcept {
        sum += other.sum;
        count += other.count;
    }
    /// Not a number where nothing was measured.
    double value() const noexcept {
        return count > 0 ? sum / static_cast<double>(count)
                         : std::numeric_limits<double>::quiet_NaN();
    }
    friend bool operator==(const measured_mean&, const measured_mean&) = default;
};

/// How far ranks were apart in some steps in a row, and what was done about it; see
/// consensus_report.
struct consensus_means {
    measured_mean distance, estimate, target, critical;  // as consensus_report has them
    measured_mean rounds;                                // of mixing a step, where ranks mix

    /// Takes a step in.
    void add(const consensus_report& found) noexcept {
        distance.add(found.distance);
        estimate.add(found.estimate);
        target.add(found.target);
        critical.add(found.critical);
        // A controller may leave a step without any.
        if (tells(found)) rounds.add(static_cast<double>(found.rounds < 0 ? 0 : found.rounds));
    }
    /// Takes the steps after these in.
    void merge(const consensus_means& next) noexcept {
        distance.merge(next.distance);
        estimate.merge(next.estimate);
        target.merge(next.target);
        critical.merge(next.critical);
        rounds.merge(next.rounds);
    }
    /// Whether the step is one of ranks that mix.
    static bool tells(const consensus_report& found) noexcept {
        return found.rounds >= 0 || found.learning_rate > 0.0 || is_finite(found.distance);
    }
    friend bool operator==(const consensus_means&, const consensus_means&) = default;
};

/// The distances that were measured exactly in half a pass over the data.
struct half_epoch {
    std::int64_t number = 0;  // half passes completed before
    measured_mean squares{};  // of Xi

    friend bool operator==(const half_epoch&, const half_epoch&) = default;
};

/// What steps tell by tensor: the mean over those of the last epoch that tells of it.
///   cost    8 bytes a tensor, none of it taken by a step after `begin`
class tensor_means {
public:
    /// For so many tensors.
    void begin(std::size_t tensors) {
        if (means_.size() == tensors) return;
        means_.clear();
        means_.reserve(tensors);
        steps_ = 0;
    }
    /// Takes what a step tells by tensor in.
    void add(std::int64_t epoch, std::span<const double> values) {
        if (values.empty()) return;
        if (epoch != epoch_ || steps_ == 0 || means_.size() != values.size()) {
            means_.assign(values.size(), 0.0);
            steps_ = 0;
            epoch_ = epoch;
        }
        ++steps_;
        for (std::size_t t = 0; t < means_.size(); ++t)
            means_[t] += (values[t] - means_[t]) / static_cast<double>(steps_);
    }
    /// The means, by the tensors' index.
    std::span<const double> all() const noexcept { return means_; }

private:
    std::vector<double> means_;
    std::int64_t epoch_ = 0, steps_ = 0;
};

/// How far a run's ranks were apart, as one of them saw it.
///   cost    48 bytes an epoch, 16 a tensor; a step O(tensors), without allocation after `reserve`
///           where end_epoch is called between epochs
class run_consensus {
public:
    std::vector<half_epoch> halves{};  // in the order of the run: resumed ones come again
    double rounds = 0.0;               // of mixing, of all steps
    double aimed = 0.0, missed = 0.0;  // steps with a target, and those of them that missed it
    bool is_told = false;              // some step was one of ranks that mix

    /// Takes memory for the epochs to come.
    void reserve() { halves.reserve(halves.size() + 2048); }
    /// An epoch ended: the next one's steps take no memory.
    void end_epoch() {
        if (halves.size() + 2 > halves.capacity()) halves.reserve(2 * halves.size() + 2);
    }

    /// The mean of the squares that mixing moved a tensor by in the last round of a step, over the
    /// steps of the last epoch that tells; none where nobody does.
    std::span<const double> squared_changes() const noexcept { return changes_.all(); }
    /// The same of the squares of distances, which add up over tensors.
    std::span<const double> squared_distances() const noexcept { return distances_.all(); }
    /// The mean over the same steps of learning rate times gradient norm; 0: not known.
    double step_length() const noexcept { return lengths_.count > 0 ? lengths_.value() : 0.0; }

    /// Another call of `fit` begins, perhaps of another model.
    void begin(std::size_t tensors) {
        changes_.begin(tensors);
        distances_.begin(tensors);
    }

    /// A step that stands for `times`.
    void add(double epoch, const consensus_report& found, double times) {
        if (!consensus_means::tells(found)) return;
        is_told = true;
        if (found.rounds > 0) rounds += times * static_cast<double>(found.rounds);
        if (is_finite(found.target)) aimed += times;
        if (found.missed) missed += times;
        const auto half = static_cast<std::int64_t>(std::floor(2.0 * epoch)), number = half / 2;
        if (halves.empty() || halves.back().number != half) halves.push_back({.number = half});
        halves.back().squares.add(found.distance * found.distance);
        changes_.add(number, found.squared_changes);
        distances_.add(number, found.squared_distances);
        const double length = found.learning_rate * found.gradient_norm;
        if (is_finite(length) && std::exchange(epoch_of_lengths_, number) != number) lengths_ = {};
        lengths_.add(length);
    }

private:
    tensor_means changes_, distances_;
    measured_mean lengths_;
    std::int64_t epoch_of_lengths_ = -1;
};

}  // namespace sotto::detail
