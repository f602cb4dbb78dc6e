#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/strategies/consensus_report.hpp"

namespace sotto::detail {

/// The mean of what was measured, of which there may be nothing.
struct measured_mean {
    double sum = 0.0;        // of those that are finite
    std::int64_t count = 0;  // of these

    /// Takes a value in; one that is not finite is none.
    void add(double value) noexcept;
    /// Takes all of another one's in.
    void merge(const measured_mean& other) noexcept;
    /// Not a number where nothing was measured.
    double value() const noexcept;
    friend bool operator==(const measured_mean&, const measured_mean&) = default;
};

/// How far ranks were apart in some steps in a row, and what was done about it; see
/// consensus_report.
struct consensus_means {
    measured_mean distance, estimate, target, critical;  // as consensus_report has them
    measured_mean rounds;                                // of mixing a step, where ranks mix

    /// Takes a step in.
    void add(const consensus_report& found) noexcept;
    /// Takes the steps after these in.
    void merge(const consensus_means& next) noexcept;
    /// Whether the step is one of ranks that mix.
    static bool tells(const consensus_report& found) noexcept;
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
    void begin(std::size_t tensors);
    /// Takes what a step tells by tensor in.
    void add(std::int64_t epoch, std::span<const double> values);
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
    void end_epoch();

    /// The mean of the squares that mixing moved a tensor by in the last round of a step, over the
    /// steps of the last epoch that tells; none where nobody does.
    std::span<const double> squared_changes() const noexcept { return changes_.all(); }
    /// The same of the squares of distances, which add up over tensors.
    std::span<const double> squared_distances() const noexcept { return distances_.all(); }
    /// The mean over the same steps of learning rate times gradient norm; 0: not known.
    double step_length() const noexcept { return lengths_.count > 0 ? lengths_.value() : 0.0; }

    /// Another call of `fit` begins, perhaps of another model.
    void begin(std::size_t tensors);

    /// A step that stands for `times`.
    void add(double epoch, const consensus_report& found, double times);

private:
    tensor_means changes_, distances_;
    measured_mean lengths_;
    std::int64_t epoch_of_lengths_ = -1;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_consensus.ipp"
#endif
