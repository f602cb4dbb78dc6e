#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/quantise.hpp"
#include "sotto/kernels/quantise_block.hpp"
#include "sotto/kernels/require.hpp"
#include "sotto/kernels/unfused.hpp"

namespace sotto::kernels {

/// How values become -1, 0 and 1.
struct ternarisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    float clip = 2.5f;         // in standard deviations; infinity: values stay as they are
    std::uint64_t seed = 0;    // another one for every message
    std::uint64_t first = 0;   // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

namespace detail {

template <int Lanes>
SOTTO_INLINE void add_square(float factor, const float* x, std::size_t count,
                             floats<Lanes>& sum) noexcept {
    SOTTO_UNFUSED_BODY
    floats<Lanes> value;
    load_some<Lanes>(value, x, count);
    value = value * factor;
    value = value * value;
    sum = sum + value;
}

/// The sum of squares of x * factor: value i in float sum i % 64, and these by halves into
/// a double after 256 each, so that there is one order for every instruction set.
template <int Lanes>
SOTTO_INLINE double sum_of_squares_times(float factor, const float* x, std::size_t count) noexcept {
    SOTTO_UNFUSED_BODY
    constexpr std::size_t width = 64, parts = width / Lanes, chunk = 256 * width;
    double sum = 0.0;
    for (std::size_t start = 0; start < count; start += chunk) {
        const std::size_t end = std::min(start + chunk, count);
        floats<Lanes> sums[parts] = {};
        std::size_t i = start;
        for (; i + width <= end; i += width)
            for (std::size_t part = 0; part < parts; ++part)
                add_square<Lanes>(factor, x + i + part * Lanes, Lanes, sums[part]);
        for (std::size_t part = 0; i < end; i += Lanes, ++part)
            add_square<Lanes>(factor, x + i, end - i, sums[part]);
        for (std::size_t half = parts / 2; half > 0; half /= 2)
            for (std::size_t part = 0; part < half; ++part)
                sums[part] = sums[part] + sums[part + half];
        sum += double{sum_of(sums[0])};
    }
    return sum;
}

/// The scale of a block, as bits: its largest magnitude, or `clip` standard deviations if they are
/// less. The squares are of values up to 4, so that none is too large and none that counts too
/// small.
template <instruction_set Set>
SOTTO_INLINE std::uint32_t clipped_scale(const float* x, std::size_t count, float clip) noexcept {
    const std::uint32_t largest = largest_magnitude<false, lanes_of(Set)>(x, nullptr, count);
    if (largest >= infinite_scale) return largest;
    const std::uint32_t exponent = std::clamp(254u - (largest >> 23), 1u, 253u);
    const float factor = std::bit_cast<float>(exponent << 23);
    const double squares = sum_of_squares_times<lanes_of(Set)>(factor, x, count);
    const double deviation = std::sqrt(squares / static_cast<double>(count)) / double{factor};
    const double limit = double{clip} * deviation;
    return limit < double{std::bit_cast<float>(largest)}
               ? std::bit_cast<std::uint32_t>(static_cast<float>(limit))
               : largest;
}

struct ternarise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all, const float& clip) noexcept {
        for (std::size_t start = 0; start < all.count; start += all.block) {
            const std::size_t count = std::min(all.block, all.count - start);
            block_encoder<2, true, false, true>::with_scale<Set>(
                all, start, count, clipped_scale<Set>(all.x + start, count, clip));
        }
    }
};

}  // namespace detail

/// Values as -scale, 0 or scale at random, 2 bits each: TernGrad. dequantise<2> decodes them.
///   math    v = x clipped to c sigma, sigma^2 = mean of x^2 over the block;  scale = max |v|;
///           code = sign(v) with probability |v| / scale, else 0, so that E[decoded] = v
///           About 0, which gradients have as their mean, and not about the mean: a block of equal
///           values would have no deviation, and all of it would be clipped
///   shape, wire, random  as quantise<2>, with stochastic rounding
///   cost    as quantise<2>; clipping reads each block once more while it is in the cache
///   errors  as quantise<2>; also a clip that is not above 0. A block that is not finite has an
///           infinite or NaN scale and codes 0
///   source  Wen et al. 2017, TernGrad, arXiv:1705.07878, with blocks in place of layers. Five
///           codes to a byte would save a fifth of the bytes and cost divisions by 3
inline void ternarise(const ternarisation& how, std::span<const float> x, std::span<float> scales,
                      std::span<std::uint8_t> codes) {
    detail::require_codes("ternarise", how.block, how.first, x.size(), 2, scales.size(),
                          codes.size());
    require(how.clip > 0.0f, "ternarise", "clip is above 0");
    const detail::blocks_to_encode all{x.data(), nullptr,   x.size(),      how.block,
                                       how.seed, how.first, scales.data(), codes.data()};
    if (how.clip <= std::numeric_limits<float>::max())
        run_unfused<detail::ternarise_blocks>(best_instruction_set(), all, how.clip);
    else
        run_unfused<detail::quantise_blocks<2, true, false>>(best_instruction_set(), all);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels
