#pragma once

#include "sotto/kernels/detail/quantise/half.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// The bits of Lanes halves.
template <int Lanes>
using halves = typename vector_of<std::uint16_t, Lanes>::type;

/// The same in the type of the compilers' builtins.
template <int Lanes>
using signed_halves = typename vector_of<std::int16_t, Lanes>::type;

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

SOTTO_DECL void round_to_fp16(std::span<const float> from, std::span<std::uint16_t> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "round_to_fp16");
    at_each_lane(round_lanes<fp16_lanes>{from.data(), to.data()}, from.size());
}

SOTTO_DECL void round_to_bf16(std::span<const float> from, std::span<std::uint16_t> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "round_to_bf16");
    at_each_lane(round_lanes<bf16_lanes>{from.data(), to.data()}, from.size());
}

SOTTO_DECL void widen_from_fp16(std::span<const std::uint16_t> from, std::span<float> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "widen_from_fp16");
    at_each_lane(widen_lanes<fp16_lanes>{from.data(), to.data()}, from.size());
}

SOTTO_DECL void widen_from_bf16(std::span<const std::uint16_t> from, std::span<float> to) {
    require_size_of({"from", from.size()}, {{"to", to.size()}}, "widen_from_bf16");
    at_each_lane(widen_lanes<bf16_lanes>{from.data(), to.data()}, from.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
