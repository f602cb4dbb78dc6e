#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/data/detail/glyphs.hpp"

namespace sotto::detail::data {

/// Draws lines of constant thickness with smooth edges into a small grey image. Coordinates are in
/// 1/256 of a pixel. All arithmetic is exact, on integers, so every compiler draws the same image.
///   math    a pixel's ink depends on the distance from its centre to the nearest line: full within
///           the radius, zero beyond radius + softness, linear in between
class pen {
public:
    static constexpr std::int64_t side = 28;
    static constexpr std::int64_t unit = 256;

    pen(std::int64_t radius, std::int64_t softness);

    void draw(point a, point b);

    /// Returns the ink of a pixel, 0 to 255.
    std::int64_t ink(std::size_t pixel_index) const;

private:
    std::int64_t reach() const { return radius_ + softness_; }
    static std::int64_t pixel(std::int64_t at);

    std::int64_t radius_;
    std::int64_t softness_;
    std::array<std::int64_t, static_cast<std::size_t>(side* side)>
        nearest_{};  // squared distance to a line
};

/// Calls see(a, b) for each straight segment of a stroke. A curve has four segments between two
/// points.
///   math    Catmull-Rom spline; the first and last point count twice
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

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/pen.ipp"
#endif
