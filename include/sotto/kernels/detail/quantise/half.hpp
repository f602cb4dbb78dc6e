#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// A float rounded to IEEE binary16, as its bits: 1 sign, 5 exponent, 10 fraction.
///   math    to nearest, ties to even; from 65520 on infinity; subnormals down to 2^-24; a NaN
///           stays one, quiet, with its upper payload bits: what F16C computes, on every machine
constexpr std::uint16_t to_fp16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000) {
        half = 0x7E00 | (magnitude >> 13 & 0x3FF);
    } else if (magnitude >= 0x47800000) {  // 2^16
        half = 0x7C00;
    } else if (magnitude >= 0x38800000) {  // 2^-14: a carry out of the fraction is right as it is
        half = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    } else {
        // The last bit of 0.5f is worth 2^-24, the unit of subnormals: the addition rounds for us.
        half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
    }
    return static_cast<std::uint16_t>(sign | half);
}

/// The float that an IEEE binary16 stands for: exact; a signalling NaN becomes quiet.
constexpr float from_fp16(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = (half & 0x7FFFu) << 13;
    std::uint32_t bits = 0;
    if (magnitude > 0x0F800000)
        bits = (magnitude + 0x70000000) | 0x00400000;
    else if (magnitude == 0x0F800000)
        bits = 0x7F800000;
    else if (magnitude >= 0x00800000)
        bits = magnitude + 0x38000000;
    else  // a fraction in units of 2^-24, put behind the leading bit of 2^-14, which then goes
        bits =
            std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + 0x38800000) - 0x1p-14f);
    return std::bit_cast<float>(sign | bits);
}

/// A float rounded to bfloat16, as its bits: the upper half of a float.
///   math    to nearest, ties to even; overflow to infinity; subnormals kept; NaN kept, quiet
constexpr std::uint16_t to_bf16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// The float that a bfloat16 stands for: exact, bit for bit.
constexpr float from_bf16(std::uint16_t half) noexcept {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
}

/// Lanes halves, as their bits.
template <int Lanes>
using halves = typename vector_of<std::uint16_t, Lanes>::type;

/// The same, as the compilers' builtins take and give them.
template <int Lanes>
using signed_halves = typename vector_of<std::int16_t, Lanes>::type;

// The conversions below are each the scalar function's arithmetic, on as many lanes as the argument
// has, with both sides of every `if` computed and one chosen. Processors with AVX2 have
// instructions for binary16; those of bfloat16, where there are any, flush subnormals.

struct fp16_lanes {
    static constexpr int to_nearest = 0, rounding_as_set = 4;

    static void round(const float& from, std::uint16_t& to) noexcept { to = to_fp16(from); }
    static void widen(const std::uint16_t& from, float& to) noexcept { to = from_fp16(from); }

    template <class Floats, class Halves>
    SOTTO_INLINE static void round(const Floats& from, Halves& to) noexcept {
        using words = words<sizeof(Floats) / sizeof(float)>;
        const words bits = reinterpret_cast<words>(from), magnitude = bits & 0x7FFFFFFFu;
        const Floats shifted = reinterpret_cast<Floats>(magnitude) + 0.5f;
        const words subnormal = reinterpret_cast<words>(shifted) - 0x3F000000u;
        const words normal = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
        const words payload =
            magnitude > 0x7F800000u ? 0x200u | (magnitude >> 13 & 0x3FFu) : words{};
        const words half = magnitude < 0x38800000u ? subnormal : normal;
        const words large = magnitude >= 0x47800000u ? 0x7C00u | payload : half;
        to = __builtin_convertvector(large | (bits >> 16 & 0x8000u), Halves);
    }
    template <class Halves, class Floats>
    SOTTO_INLINE static void widen(const Halves& from, Floats& to) noexcept {
        using words = words<sizeof(Floats) / sizeof(float)>;
        const words half = __builtin_convertvector(from, words);
        const words magnitude = (half & 0x7FFFu) << 13, offset = magnitude + 0x38800000u;
        const Floats shifted = reinterpret_cast<Floats>(offset) - 0x1p-14f;
        const words infinite = magnitude >= 0x0F800000u ? words{} + 0x38000000u : words{};
        const words normal = magnitude + 0x38000000u + infinite;
        const words subnormal = reinterpret_cast<words>(shifted);
        const words quiet = magnitude > 0x0F800000u ? words{} + 0x00400000u : words{};
        const words bits = magnitude < 0x00800000u ? subnormal : normal;
        to = reinterpret_cast<Floats>(bits | quiet | (half & 0x8000u) << 16);
    }
#if defined(__x86_64__)
    SOTTO_AVX2 static void round(const floats<8>& from, halves<8>& to) noexcept {
        to = halves<8>(__builtin_ia32_vcvtps2ph256(from, to_nearest));
    }
    SOTTO_AVX2 static void widen(const halves<8>& from, floats<8>& to) noexcept {
        to = __builtin_ia32_vcvtph2ps256(signed_halves<8>(from));
    }
    SOTTO_AVX512 static void round(const floats<16>& from, halves<16>& to) noexcept {
        constexpr std::uint16_t all_lanes = 0xFFFF;
        to = halves<16>(
            __builtin_ia32_vcvtps2ph512_mask(from, to_nearest, signed_halves<16>{}, all_lanes));
    }
    SOTTO_AVX512 static void widen(const halves<16>& from, floats<16>& to) noexcept {
        to = __builtin_ia32_vcvtph2ps512_mask(signed_halves<16>(from), floats<16>{},
                                              all_of_16_lanes, rounding_as_set);
    }
#endif
};

struct bf16_lanes {
    SOTTO_INLINE static void round(const float& from, std::uint16_t& to) noexcept {
        to = to_bf16(from);
    }
    SOTTO_INLINE static void widen(const std::uint16_t& from, float& to) noexcept {
        to = from_bf16(from);
    }

    template <class Floats, class Halves>
    SOTTO_INLINE static void round(const Floats& from, Halves& to) noexcept {
        using words = words<sizeof(Floats) / sizeof(float)>;
        words bits;
        load(bits, &from);
        const words rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
        const words nan = bits >> 16 | 0x40u;
        const words half = (bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded;
        to = __builtin_convertvector(half, Halves);
    }
    template <class Halves, class Floats>
    SOTTO_INLINE static void widen(const Halves& from, Floats& to) noexcept {
        using words = words<sizeof(Floats) / sizeof(float)>;
        const words bits = __builtin_convertvector(from, words) << 16;
        store(bits, &to);
    }
};

template <class Float>
struct half_of {
    using type = halves<static_cast<int>(sizeof(Float) / sizeof(float))>;
};
template <>
struct half_of<float> {
    using type = std::uint16_t;
};

template <class Format>
struct round_lanes {
    const float* from;
    std::uint16_t* to;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(from + i, to + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value;
        typename half_of<V>::type half;
        load(value, from + i);
        Format::round(value, half);
        store(half, to + i);
    }
};

template <class Format>
struct widen_lanes {
    const std::uint16_t* from;
    float* to;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(from + i, to + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value;
        typename half_of<V>::type half;
        load(half, from + i);
        Format::widen(half, value);
        store(value, to + i);
    }
};

// The four conversions on spans of one size, or it is an invalid_option, which share no memory: bit
// for bit the scalar ones, on every instruction set. Each reads and writes 6 bytes a value
// together.

/// To the nearest, ties to even, as float_to_fp16.
inline void round_to_fp16(std::span<const float> from, std::span<std::uint16_t> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "round_to_fp16");
    at_each_lane(round_lanes<fp16_lanes>{from.data(), to.data()}, from.size());
}

/// To the nearest, ties to even, as float_to_bf16.
inline void round_to_bf16(std::span<const float> from, std::span<std::uint16_t> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "round_to_bf16");
    at_each_lane(round_lanes<bf16_lanes>{from.data(), to.data()}, from.size());
}

/// As fp16_to_float.
inline void widen_from_fp16(std::span<const std::uint16_t> from, std::span<float> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "widen_from_fp16");
    at_each_lane(widen_lanes<fp16_lanes>{from.data(), to.data()}, from.size());
}

/// As bf16_to_float.
inline void widen_from_bf16(std::span<const std::uint16_t> from, std::span<float> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "widen_from_bf16");
    at_each_lane(widen_lanes<bf16_lanes>{from.data(), to.data()}, from.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
