#pragma once

#include <array>
#include <cstddef>

#include "sotto/logging/detail/round_times.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// The last rounds, to choose a typical one: late, after any warm-up, and of median length. It
/// stores nothing for a single rank, which has nothing in flight. It also stores nothing for models
/// of more than 65,536 tensors, whose round would be megabytes of a log.
///   cost    9 times 32 bytes a tensor, allocated by begin
class recent_rounds {
public:
    static constexpr std::size_t kept = 9;             // number of rounds
    static constexpr std::size_t tensors_max = 65536;  // above it none is stored

    /// Removes all rounds and allocates memory for new ones.
    void begin(const run_info& info);

    /// Ignores a round of a strategy that does not measure times by tensor.
    void add(const step_report& report) noexcept;

    /// Returns the round of median length, of two the longer; null if there is none.
    const round_times* typical() const noexcept;

private:
    std::size_t tensors_ = 0;
    std::size_t count_ = 0;  // number of rounds since begin
    std::array<round_times, kept> rounds_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/recent_rounds.ipp"
#endif
