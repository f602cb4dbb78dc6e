#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sotto/data/detail/glyphs.hpp"

namespace sotto::detail::data {

/// Draws lines of one thickness with smooth edges into a small grey image. Coordinates count 256ths
/// of a pixel; all arithmetic is exact, on integers, so that every compiler draws the same.
///   math    a pixel's ink follows from the distance of its centre to the nearest line: full within
///           the radius, none `softness` further out, linear in between
class pen {
public:
    static constexpr std::int64_t side = 28;
    static constexpr std::int64_t unit = 256;

    pen(std::int64_t radius, std::int64_t softness) : radius_(radius), softness_(softness) {
        nearest_.fill(reach() * reach());
    }

    void draw(point a, point b) {
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
                std::int64_t gap =
                    0;  // what the foot of the perpendicular takes off the squared distance
                if (dot >= length_squared)
                    p = {p.x - along.x, p.y - along.y};
                else if (dot > 0)
                    gap = dot * dot / length_squared;  // dot < 2^27
                std::int64_t& nearest = nearest_[static_cast<std::size_t>(y * side + x)];
                nearest = (std::min)(nearest, p.x * p.x + p.y * p.y - gap);
            }
    }

    /// The ink of a pixel, 0 to 255.
    std::int64_t ink(std::size_t pixel_index) const {
        const std::int64_t squared = nearest_[pixel_index];
        if (squared >= reach() * reach()) return 0;
        // Below 2^53 the conversions are exact, and IEEE 754 rounds square roots correctly.
        const auto distance = static_cast<std::int64_t>(std::sqrt(static_cast<double>(squared)));
        return std::min<std::int64_t>(255, (reach() - distance) * 255 / softness_);
    }

private:
    std::int64_t reach() const { return radius_ + softness_; }
    static std::int64_t pixel(std::int64_t at) {
        return std::clamp<std::int64_t>(at / unit, 0, side - 1);
    }

    std::int64_t radius_;
    std::int64_t softness_;
    std::array<std::int64_t, static_cast<std::size_t>(side* side)>
        nearest_{};  // squared distance to a line
};

/// Calls see(a, b) for each straight piece of a stroke: of a curve, four between two points.
///   math    Catmull-Rom spline, the first and last point doubled
inline void trace(const stroke& s, auto&& see) {
    const auto at = [&](std::size_t i) { return s.points[(std::min)(i, s.count - 1)]; };
    for (std::size_t i = 0; i + 1 < s.count; ++i) {
        if (!s.curved) {
            see(at(i), at(i + 1));
            continue;
        }
        const point p0 = at(i == 0 ? 0 : i - 1), p1 = at(i), p2 = at(i + 1), p3 = at(i + 2);
        const auto spline = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d,
                               std::int64_t k) {
            return (128 * b + 16 * k * (c - a) + 4 * k * k * (2 * a - 5 * b + 4 * c - d) +
                    k * k * k * (3 * b - a - 3 * c + d)) /
                   128;  // at k / 4 of the way from b to c
        };
        point from = p1;
        for (std::int64_t k = 1; k <= 4; ++k) {
            const point to{spline(p0.x, p1.x, p2.x, p3.x, k), spline(p0.y, p1.y, p2.y, p3.y, k)};
            see(from, to);
            from = to;
        }
    }
}

}  // namespace sotto::detail::data
