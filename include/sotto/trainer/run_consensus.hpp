#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/strategies/consensus_report.hpp"

namespace sotto {

/// The mean of what was measured, of which there may be nothing.
struct measured_mean {
    double sum = 0.0;
    std::int64_t count = 0;

    void add(double value) noexcept {
        if (!std::isfinite(value)) return;
        sum += value;
        ++count;
    }
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
    measured_mean distance, estimate, target, critical;
    measured_mean rounds;  // of mixing a step, where ranks mix

    void add(const consensus_report& found) noexcept {
        distance.add(found.distance);
        estimate.add(found.estimate);
        target.add(found.target);
        critical.add(found.critical);
        // A controller may leave a step without any.
        if (tells(found)) rounds.add(static_cast<double>(found.rounds < 0 ? 0 : found.rounds));
    }
    void merge(const consensus_means& next) noexcept {
        distance.merge(next.distance);
        estimate.merge(next.estimate);
        target.merge(next.target);
        critical.merge(next.critical);
        rounds.merge(next.rounds);
    }
    /// Whether the step is one of ranks that mix.
    static bool tells(const consensus_report& found) noexcept {
        return found.rounds >= 0 || found.learning_rate > 0.0 || std::isfinite(found.distance);
    }
    friend bool operator==(const consensus_means&, const consensus_means&) = default;
};

/// The largest distance of an epoch, measured exactly; not a number where it was not measured.
struct epoch_distance {
    std::int64_t epoch = 0;  // passes over the data completed before
    double largest = std::numeric_limits<double>::quiet_NaN();
};

/// How far a run's ranks were apart, as one of them saw it.
///   cost    16 bytes an epoch, 8 a tensor; a step O(tensors), without allocation after `reserve`
///           where end_epoch is called between epochs
class run_consensus {
public:
    std::vector<epoch_distance> epochs{};  // in the order of the run: resumed ones come again
    double rounds = 0.0;                   // of mixing, of all steps
    bool is_told = false;                  // some step was one of ranks that mix

    void reserve() { epochs.reserve(epochs.size() + 1024); }
    /// An epoch ended: the next one's first step takes no memory.
    void end_epoch() {
        if (epochs.size() == epochs.capacity()) epochs.reserve(2 * epochs.size() + 1);
    }

    /// The mean of the squares that mixing moved a tensor by in the last round of a step, over the
    /// steps of the last epoch that tells; none where nobody does.
    std::span<const double> squared_changes() const noexcept { return squared_changes_; }
    /// The mean over the same steps of learning rate times gradient norm; 0: not known.
    double step_length() const noexcept { return lengths_.count > 0 ? lengths_.value() : 0.0; }

    /// Another call of `fit` begins, perhaps of another model.
    void begin(std::size_t tensors) {
        if (squared_changes_.size() == tensors) return;
        squared_changes_.clear();
        squared_changes_.reserve(tensors);
        steps_ = 0;
        lengths_ = {};
    }

    /// A step that stands for `times`.
    void add(double epoch, const consensus_report& found, double times) {
        if (!consensus_means::tells(found)) return;
        is_told = true;
        if (found.rounds > 0) rounds += times * static_cast<double>(found.rounds);
        const auto number = static_cast<std::int64_t>(std::floor(epoch));
        const bool is_new = epochs.empty() || epochs.back().epoch != number;
        if (is_new) epochs.push_back({.epoch = number});
        if (!(epochs.back().largest >= found.distance) && std::isfinite(found.distance))
            epochs.back().largest = found.distance;
        average(found, is_new);
    }

private:
    void average(const consensus_report& found, bool is_new) {
        if (found.squared_changes.empty()) return;
        if (is_new || steps_ == 0 || squared_changes_.size() != found.squared_changes.size()) {
            squared_changes_.assign(found.squared_changes.size(), 0.0);
            steps_ = 0;
            lengths_ = {};
        }
        ++steps_;
        for (std::size_t t = 0; t < squared_changes_.size(); ++t)
            squared_changes_[t] +=
                (found.squared_changes[t] - squared_changes_[t]) / static_cast<double>(steps_);
        lengths_.add(found.learning_rate * found.gradient_norm);
    }

    std::vector<double> squared_changes_;
    std::int64_t steps_ = 0;
    measured_mean lengths_;
};

}  // namespace sotto
