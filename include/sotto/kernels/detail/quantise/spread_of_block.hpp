#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/quantise_block.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// The largest magnitude of a block and its sum of squares. Value i is added to float sum i % 32,
/// and these are added by halves to a double after each chunk: the same order on every instruction
/// set. Scaled: multiplies the values by a factor before it squares them.
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

    /// Returns the largest magnitude, or `clip` standard deviations if smaller. If squares could
    /// leave the range of floats, it sums them again with values scaled to at most 4.
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

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
