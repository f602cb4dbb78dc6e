#pragma once

#include <array>
#include <cstddef>

#include "sotto/logging/detail/round_times.hpp"
#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// The last few rounds, of which one is to stand for all: late, so that warm-ups are over, and
/// neither the shortest nor the longest.
/// Nothing is kept of a rank that is alone, and has nothing under way, nor of models of more than
/// 65,536 tensors, whose one round would be megabytes of a log.
///   cost    9 times 32 bytes a tensor, taken by begin
class recent_rounds {
public:
    static constexpr std::size_t kept = 9;             // rounds
    static constexpr std::size_t tensors_max = 65536;  // above which none is kept

    /// Forgets all rounds, and takes the memory for others.
    void begin(const run_info& info);

    /// A round of a strategy that tells no times is none.
    void add(const step_report& report) noexcept;

    /// The one of median length, of two the longer; nothing where there is none.
    const round_times* typical() const noexcept;

private:
    std::size_t tensors_ = 0;
    std::size_t count_ = 0;  // of rounds since begin
    std::array<round_times, kept> rounds_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/recent_rounds.ipp"
#endif
