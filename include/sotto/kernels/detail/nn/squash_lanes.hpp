#pragma once

#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// The common part of both functions below, for y <= 0.
///   math    y = n log 2 + r, n to the nearest, so |r| < 0.35;  power = 2^n
///           scaled = power (exp(r) - 1), so that exp(y) = scaled + power and exp(y) - 1 = scaled +
///           (power - 1) without cancellation.
///           The series of exp omits 6e-9 after seven terms. n times the first 17 bits of log 2 is
///           exact. Values below -87 count as -87: 2^-126 is the smallest normal power.
template <int Lanes>
SOTTO_INLINE void split_exponential(const floats<Lanes>& at, floats<Lanes>& scaled,
                                    floats<Lanes>& power) noexcept {
    SOTTO_UNFUSED_BODY
    using lanes = floats<Lanes>;
    using words = integers<Lanes>;
    const lanes lowest = lanes{} - 87.0f;
    const lanes y = at < lowest ? lowest : at;  // NaN stays NaN
    const auto n = __builtin_convertvector(y * 0x1.715476p+0f - 0.5f, words);
    const auto whole = __builtin_convertvector(n, lanes);
    const lanes r = (y - whole * 0x1.62e4p-1f) - whole * 0x1.7f7d1cp-20f;
    lanes series = r * (1.0f / 5040) + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    const words exponent = (n + 127) << 23;
    std::memcpy(&power, &exponent, sizeof power);
    scaled = (series * r * r + r) * power;
}

template <int Lanes>
SOTTO_INLINE void sigmoid_lanes(const floats<Lanes>& x, floats<Lanes>& to) noexcept {
    SOTTO_UNFUSED_BODY
    using lanes = floats<Lanes>;
    lanes scaled, power;
    split_exponential<Lanes>(x < 0.0f ? x : -x, scaled, power);
    const lanes falling = scaled + power;  // exp(-|x|)
    to = (x < 0.0f ? falling : lanes{} + 1.0f) / (falling + 1.0f);
}

template <int Lanes>
SOTTO_INLINE void tanh_lanes(const floats<Lanes>& x, floats<Lanes>& to) noexcept {
    SOTTO_UNFUSED_BODY
    using lanes = floats<Lanes>;
    lanes scaled, power;
    const lanes twice = x + x;
    split_exponential<Lanes>(x < 0.0f ? twice : -twice, scaled, power);
    const lanes less = scaled + (power - 1.0f);  // exp(-2|x|) - 1
    const lanes size = less / (less + 2.0f);     // -tanh |x|
    to = x < 0.0f ? size : 0.0f - size;
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
