#pragma once

#include "sotto/compressors/no_memory.hpp"

#include <algorithm>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL no_memory::state::state(const layout& tensors) {
    std::int64_t largest = 0;
    for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
    scaled_.resize(static_cast<std::size_t>(largest));
}

SOTTO_DECL std::span<const float> no_memory::state::accumulate(const tensor&,
                                                               std::span<const float> gradient,
                                                               float scale) noexcept {
    if (scale == 1.0f) return gradient;
    std::transform(gradient.begin(), gradient.end(), scaled_.begin(),
                   [=](float g) { return scale * g; });
    return std::span(scaled_).first(gradient.size());
}

}  // namespace sotto
