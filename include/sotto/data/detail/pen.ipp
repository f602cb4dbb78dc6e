#pragma once

#include "sotto/data/detail/pen.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto::detail::data {

SOTTO_DECL pen::pen(std::int64_t radius, std::int64_t softness)
    : radius_(radius), softness_(softness) {
    nearest_.fill(reach() * reach());
}

SOTTO_DECL void pen::draw(point a, point b) {
    const point along{b.x - a.x, b.y - a.y};
    const std::int64_t length_squared = along.x * along.x + along.y * along.y;
    const std::int64_t left = pixel((std::min)(a.x, b.x) - reach()),
                       right = pixel((std::max)(a.x, b.x) + reach());
    const std::int64_t top = pixel((std::min)(a.y, b.y) - reach()),
                       bottom = pixel((std::max)(a.y, b.y) + reach());
    for (std::int64_t y = top; y <= bottom; ++y)
        for (std::int64_t x = left; x <= right; ++x) {
            point p{x * unit + unit / 2 - a.x, y * unit + unit / 2 - a.y};
            const std::int64_t dot = p.x * along.x + p.y * along.y;
            std::int64_t gap = 0;  // part of the squared distance that lies along the line
            if (dot >= length_squared)
                p = {p.x - along.x, p.y - along.y};
            else if (dot > 0)
                gap = dot * dot / length_squared;  // dot < 2^27
            std::int64_t& nearest = nearest_[static_cast<std::size_t>(y * side + x)];
            nearest = (std::min)(nearest, p.x * p.x + p.y * p.y - gap);
        }
}

SOTTO_DECL std::int64_t pen::ink(std::size_t pixel_index) const {
    const std::int64_t squared = nearest_[pixel_index];
    if (squared >= reach() * reach()) return 0;
    // Below 2^53 the conversions are exact, and IEEE 754 rounds square roots correctly.
    const auto distance = static_cast<std::int64_t>(std::sqrt(static_cast<double>(squared)));
    return std::min<std::int64_t>(255, (reach() - distance) * 255 / softness_);
}

SOTTO_DECL std::int64_t pen::pixel(std::int64_t at) {
    return std::clamp<std::int64_t>(at / unit, 0, side - 1);
}

}  // namespace sotto::detail::data
