#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::kernels {

/// x *= factor.
inline void scale(std::span<float> x, float factor) noexcept {
    for (float& value : x) value *= factor;
}

/// sum += x; requires equal sizes.
inline void add(std::span<float> sum, std::span<const float> x) noexcept {
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
}

/// y -= factor * x, product rounded before the difference; requires equal sizes.
SOTTO_UNFUSED inline void subtract_scaled(std::span<float> y, float factor,
                                          std::span<const float> x) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < x.size(); ++i) y[i] -= factor * x[i];
}

/// The sum of squares, in double over eight interleaved partial sums: one order for every
/// instruction set.
SOTTO_UNFUSED inline double sum_of_squares(std::span<const float> x) noexcept {
    SOTTO_UNFUSED_BODY
    double partial[8] = {};
    const std::size_t whole = x.size() / 8 * 8;
    for (std::size_t i = 0; i < whole; i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) {
            const double value = x[i + lane];
            partial[lane] += value * value;
        }
    for (std::size_t i = whole; i < x.size(); ++i)
        partial[i - whole] += double{x[i]} * double{x[i]};
    return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
           ((partial[4] + partial[5]) + (partial[6] + partial[7]));
}

/// Whether a value is neither NaN nor infinite. It asks the bits, since a consumer's -ffast-math
/// lets the compiler take for granted that every value is.
inline bool is_finite(float value) noexcept {
    constexpr std::uint32_t exponent = 0x7f800000u;
    return (std::bit_cast<std::uint32_t>(value) & exponent) != exponent;
}

/// The first index whose value is NaN or infinite, or -1.
inline std::int64_t first_non_finite(std::span<const float> x) noexcept {
    constexpr std::size_t block = 1024;  // one branch a block; the loop inside is vector code
    for (std::size_t start = 0; start < x.size(); start += block) {
        const auto part = x.subspan(start, std::min(block, x.size() - start));
        unsigned suspects = 0;
        for (const float value : part) suspects |= is_finite(value) ? 0u : 1u;
        if (suspects == 0) continue;
        for (std::size_t i = 0; i < part.size(); ++i)
            if (!is_finite(part[i])) return static_cast<std::int64_t>(start + i);
    }
    return -1;
}

}  // namespace sotto::kernels
