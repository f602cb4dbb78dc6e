#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/strategies/consensus_report.hpp"

namespace sotto::detail {

/// Mean of the finite values; there may be none.
struct measured_mean {
    double sum = 0.0;        // sum of the finite values
    std::int64_t count = 0;  // number of the finite values

    /// Adds a value; ignores one that is not finite.
    void add(double value) noexcept;
    /// Adds all values of another mean.
    void merge(const measured_mean& other) noexcept;
    /// Returns NaN without values.
    double value() const noexcept;
    friend bool operator==(const measured_mean&, const measured_mean&) = default;
};

/// Distances between ranks in consecutive steps, and the reaction to them; see consensus_report.
struct consensus_means {
    measured_mean distance, estimate, target, critical;  // means of the consensus_report
    measured_mean rounds;                                // mixing rounds a step, if ranks mix

    /// Adds a step.
    void add(const consensus_report& found) noexcept;
    /// Adds the steps that follow these.
    void merge(const consensus_means& next) noexcept;
    /// True if the step's rank mixes with others.
    static bool tells(const consensus_report& found) noexcept;
    friend bool operator==(const consensus_means&, const consensus_means&) = default;
};

/// The exactly measured distances of half a pass over the data.
struct half_epoch {
    std::int64_t number = 0;  // number of half passes before it
    measured_mean squares{};  // squares of Xi

    friend bool operator==(const half_epoch&, const half_epoch&) = default;
};

/// Means by tensor over the steps of the last epoch that has such values.
///   cost    8 bytes a tensor; a step after `begin` allocates nothing
class tensor_means {
public:
    /// Prepares for `tensors` tensors.
    void begin(std::size_t tensors);
    /// Adds the values of a step by tensor.
    void add(std::int64_t epoch, std::span<const double> values);
    /// Returns the means, by tensor index.
    std::span<const double> all() const noexcept { return means_; }

private:
    std::vector<double> means_;
    std::int64_t epoch_ = 0, steps_ = 0;
};

/// Distances between a run's ranks, as one rank measured them.
///   cost    48 bytes an epoch, 16 a tensor; a step O(tensors), without allocation after `reserve`
///           if end_epoch is called between epochs
class run_consensus {
public:
    std::vector<half_epoch> halves{};  // halves in the order of the run; repeated after a resume
    double rounds = 0.0;               // mixing rounds of all steps
    double aimed = 0.0, missed = 0.0;  // steps with a target, and the number that missed it
    bool is_told = false;              // true: at least one step mixed

    /// Allocates memory for the next epochs.
    void reserve() { halves.reserve(halves.size() + 2048); }
    /// Ends an epoch, so that the steps of the next one allocate nothing.
    void end_epoch();

    /// Returns the mean squared distance that mixing moved a tensor in the last round of a step.
    /// The mean is over the steps of the last epoch that has such values; empty if there is none.
    std::span<const double> squared_changes() const noexcept { return changes_.all(); }
    /// Returns the same of the squares of distances, which add up over tensors.
    std::span<const double> squared_distances() const noexcept { return distances_.all(); }
    /// Returns the mean over the same steps of learning rate times gradient norm; 0 if unknown.
    double step_length() const noexcept { return lengths_.count > 0 ? lengths_.value() : 0.0; }

    /// Begins another call of `fit`, perhaps with another model.
    void begin(std::size_t tensors);

    /// Adds a step that represents `times` steps.
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
