#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "sotto/trainer/reports.hpp"
#include "sotto/logging/detail/round_times.hpp"

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
    void begin(const run_info& info) {
        const std::size_t tensors = info.parameters->tensors().size();
        tensors_ = info.ranks() > 1 && tensors <= tensors_max ? tensors : 0;
        count_ = 0;
        for (round_times& round : rounds_) round.tensors.reserve(tensors_);
    }

    /// A round of a strategy that tells no times is none.
    void add(const step_report& report) noexcept {
        if (tensors_ == 0 || report.round.tensor_times.size() != tensors_) return;
        rounds_[count_++ % kept].take(report);
    }

    /// The one of median length, of two the longer; nothing where there is none.
    const round_times* typical() const noexcept {
        const std::size_t count = (std::min)(count_, kept);
        if (count == 0) return nullptr;
        std::array<const round_times*, kept> by_length{};
        for (std::size_t i = 0; i < count; ++i) by_length[i] = &rounds_[i];
        const auto middle = by_length.begin() + static_cast<std::ptrdiff_t>(count / 2);
        std::nth_element(by_length.begin(), middle,
                         by_length.begin() + static_cast<std::ptrdiff_t>(count),
                         [](const round_times* a, const round_times* b) {
                             return a->ended != b->ended ? a->ended < b->ended : a->step < b->step;
                         });
        return *middle;
    }

private:
    std::size_t tensors_ = 0;
    std::size_t count_ = 0;  // of rounds since begin
    std::array<round_times, kept> rounds_;
};

}  // namespace sotto::detail
