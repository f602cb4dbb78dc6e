#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Returns a float rounded to IEEE binary16, as its bits: 1 sign, 5 exponent, 10 fraction.
///   math    to nearest, ties to even; infinity from 65520 on; subnormals down to 2^-24; NaN stays
///           a quiet NaN with its upper payload bits. Equals F16C on every machine
constexpr std::uint16_t to_fp16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000) {
        half = 0x7E00 | (magnitude >> 13 & 0x3FF);
    } else if (magnitude >= 0x47800000) {  // 2^16
        half = 0x7C00;
    } else if (magnitude >= 0x38800000) {  // 2^-14: a carry out of the fraction is correct as it is
        half = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    } else {
        // The last bit of 0.5f is 2^-24, the unit of subnormals, so the addition rounds.
        half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
    }
    return static_cast<std::uint16_t>(sign | half);
}

/// Returns the exact float value of an IEEE binary16; a signalling NaN becomes quiet.
constexpr float from_fp16(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = (half & 0x7FFFu) << 13;
    std::uint32_t bits = 0;
    if (magnitude > 0x0F800000)
        bits = (magnitude + 0x70000000) | 0x00400000;
    else if (magnitude == 0x0F800000)
        bits = 0x7F800000;
    else if (magnitude >= 0x00800000)
        bits = magnitude + 0x38000000;
    else  // a fraction in units of 2^-24: adds the leading bit of 2^-14, then subtracts it
        bits =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + 0x38800000) - 0x1p-14f);
    return std::bit_cast<float>(sign | bits);
}

/// Returns a float rounded to bfloat16, as its bits: the upper half of a float.
///   math    to nearest, ties to even; overflow to infinity; subnormals kept; NaN kept, quiet
constexpr std::uint16_t to_bf16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// Returns the exact float value of a bfloat16, bit for bit.
constexpr float from_bf16(std::uint16_t half) noexcept {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
}

// The conversions below run the scalar function's arithmetic on as many lanes as the argument has:
// both sides of every `if` are computed and one is chosen. Processors with AVX2 have instructions
// for binary16. Instructions for bfloat16, where they exist, flush subnormals.

// The four conversions on spans. Different sizes are an invalid_option, and the spans share no
// memory. They equal the scalar functions bit for bit on every instruction set. Each reads and
// writes 6 bytes a value in total.

/// Rounds to nearest, ties to even, as to_fp16.
void round_to_fp16(std::span<const float> from, std::span<std::uint16_t> to);

/// Rounds to nearest, ties to even, as to_bf16.
void round_to_bf16(std::span<const float> from, std::span<std::uint16_t> to);

/// Converts as from_fp16.
void widen_from_fp16(std::span<const std::uint16_t> from, std::span<float> to);

/// Converts as from_bf16.
void widen_from_bf16(std::span<const std::uint16_t> from, std::span<float> to);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/half.ipp"
#endif
