#pragma once

#include "sotto/strategies/detail/codistillation/distilled_model.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL double agreement(std::span<const float> a, std::span<const float> b,
                            std::size_t outputs) {
    std::size_t rows = 0, same = 0;
    for (std::size_t i = 0; i + outputs <= a.size(); i += outputs, ++rows) {
        const auto first = a.subspan(i, outputs), second = b.subspan(i, outputs);
        same += std::ranges::max_element(first) - first.begin() ==
                std::ranges::max_element(second) - second.begin();
    }
    return rows == 0 ? 0.0 : static_cast<double>(same) / static_cast<double>(rows);
}

SOTTO_DECL void divide(std::span<float> targets, int teachers) noexcept {
    if (teachers > 1)
        for (float& target : targets) target /= static_cast<float>(teachers);
}

}  // namespace sotto::detail
