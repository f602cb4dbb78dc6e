#pragma once

#include "sotto/logging/detail/recent_rounds.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void recent_rounds::begin(const run_info& info) {
    const std::size_t tensors = info.parameters->tensors().size();
    tensors_ = info.ranks() > 1 && tensors <= tensors_max ? tensors : 0;
    count_ = 0;
    for (round_times& round : rounds_) round.tensors.reserve(tensors_);
}

SOTTO_DECL void recent_rounds::add(const step_report& report) noexcept {
    if (tensors_ == 0 || report.round.tensor_times.size() != tensors_) return;
    rounds_[count_++ % kept].take(report);
}

SOTTO_DECL const round_times* recent_rounds::typical() const noexcept {
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

}  // namespace sotto::detail
