#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"

namespace sotto::detail::kernels {

/// How values become -1, 0 and 1.
struct ternarisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    float clip = 2.5f;         // in standard deviations; infinity: values stay as they are
    std::uint64_t seed = 0;    // another one for every message
    std::uint64_t first = 0;   // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// The largest magnitude of a block and its sum of squares: value i in float sum i % 32, and these
/// by halves into a double after each chunk, so that there is one order for every instruction set.
/// Scaled: the values are multiplied by a factor before they are squared.
template <int Lanes, bool Scaled>
struct spread_of_block {
    static constexpr int lanes = Lanes;
    static constexpr bool feedback = false;
    static constexpr std::size_t parts = values_in_group / Lanes;

    float clip;
    float factor = 1.0f;
    largest_of_block<false, Lanes> largest{};
    floats<Lanes> sums[parts] = {};
    double squares = 0.0;

    SOTTO_INLINE void take(const float* x, const float* none, std::size_t count,
                           std::size_t at) noexcept {
        largest.take(x, none, count, at);
        add_square(x, count, sums[at / Lanes]);
    }

    SOTTO_INLINE void add_square(const float* x, std::size_t count,
                                 floats<Lanes>& sum) const noexcept {
        SOTTO_UNFUSED_BODY
        floats<Lanes> value;
        load_some<Lanes>(value, x, count);
        if constexpr (Scaled) value = value * factor;
        value = value * value;
        sum = sum + value;
    }

    SOTTO_INLINE void end_chunk() noexcept {
        SOTTO_UNFUSED_BODY
        for (std::size_t half = parts / 2; half > 0; half /= 2)
            for (std::size_t part = 0; part < half; ++part)
                sums[part] = sums[part] + sums[part + half];
        squares += double{sum_of(sums[0])};
        for (floats<Lanes>& sum : sums) sum = floats<Lanes>{};
    }

    /// The largest magnitude, or `clip` standard deviations if they are less. Where squares may
    /// leave the range of floats, they are summed again, of values up to 4.
    SOTTO_INLINE std::uint32_t scale_bits(const float* x, std::size_t count) const noexcept {
        const std::uint32_t most = largest.bits(), exponent = most >> 23;
        if (most >= infinite_scale) return most;
        if (exponent > 127 - 32 && exponent < 127 + 32) [[likely]]
            return clipped(most, count);
        spread_of_block<Lanes, true> again{clip};
        again.factor = std::bit_cast<float>(std::clamp(254u - exponent, 1u, 253u) << 23);
        measure_block(x, nullptr, count, again);
        return again.clipped(most, count);
    }

    SOTTO_INLINE std::uint32_t clipped(std::uint32_t most, std::size_t count) const noexcept {
        const double deviation = std::sqrt(squares / static_cast<double>(count)) / double{factor};
        const double limit = double{clip} * deviation;
        return limit < double{std::bit_cast<float>(most)}
                   ? std::bit_cast<std::uint32_t>(static_cast<float>(limit))
                   : most;
    }
};

struct ternarise_blocks {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const blocks_to_encode& all, const float& clip) noexcept {
        block_encoder<2, true, false, true>::blocks<Set>(
            all, spread_of_block<lanes_of(Set), false>{clip});
    }
};

/// Values as -scale, 0 or scale at random, 2 bits each: TernGrad. dequantise<2> decodes them.
///   math    v = x clipped to c sigma, sigma^2 = mean of x^2 over the block;  scale = max |v|;
///           code = sign(v) with probability |v| / scale, else 0, so that E[decoded] = v
///           About 0, which gradients have as their mean, and not about the mean: a block of equal
///           values would have no deviation, and all of it would be clipped
///   shape, wire, random  as quantise<2>, with stochastic rounding
///   cost    as quantise<2>; clipping adds the squares while it looks for the largest, and blocks
///           whose largest is below 2^-31 or from 2^32 on are read once more
///   errors  as quantise<2>; also a clip that is not above 0. A block that is not finite has an
///           infinite or NaN scale and codes 0
///   source  Wen et al. 2017, TernGrad, arXiv:1705.07878, with blocks in place of layers. Five
///           codes to a byte would save a fifth of the bytes and cost divisions by 3
inline void ternarise(const ternarisation& how, std::span<const float> x, std::span<float> scales,
                      std::span<std::uint8_t> codes) {
    require_codes("ternarise", how.block, how.first, x.size(), 2, scales.size(), codes.size());
    require_above_0("ternarise", "clip", how.clip);
    const blocks_to_encode all{x.data(), nullptr,   x.size(),      how.block,
                               how.seed, how.first, scales.data(), codes.data()};
    if (is_finite(how.clip))
        run_unfused<ternarise_blocks>(sotto::kernels::best_instruction_set(), all, how.clip);
    else
        run_unfused<quantise_blocks<2, true, false>>(sotto::kernels::best_instruction_set(), all);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
