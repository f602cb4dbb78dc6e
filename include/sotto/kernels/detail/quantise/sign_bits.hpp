#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Returns the sign bits of Lanes floats, the first lowest.
template <instruction_set Set>
struct sign_bits {
    static std::uint32_t of(const floats<4>& values) noexcept {
#if defined(__x86_64__)
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps(values));
#elif defined(__aarch64__)
        const int32x4_t places = {0, 1, 2, 3};
        return vaddvq_u32(
            vshlq_u32(vshrq_n_u32(reinterpret_cast<const uint32x4_t&>(values), 31), places));
#else
        std::uint32_t bits = 0;
        const words<4> all = reinterpret_cast<words<4>>(values);
        for (int lane = 0; lane < 4; ++lane) bits |= all[lane] >> 31 << lane;
        return bits;
#endif
    }
};

#if defined(__x86_64__)
template <>
struct sign_bits<instruction_set::avx2> {
    SOTTO_AVX2 static std::uint32_t of(const floats<8>& values) noexcept {
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps256(values));
    }
};

template <>
struct sign_bits<instruction_set::avx512> {
    SOTTO_AVX512 static std::uint32_t of(const floats<16>& values) noexcept {
        const auto negative = __builtin_ia32_cvtd2mask512(integers<16>(values));
        // Inline assembly, as in operations.hpp, so that no mask is stored to memory.
        std::uint32_t bits;
        asm("kmovw %1, %0" : "=r"(bits) : "Yk"(negative));
        return bits;
    }
};
#endif

/// Values per word of signs.
inline constexpr std::size_t signs_in_word = 32;

/// Expands sign bits to words: all ones for a negative value, otherwise 0.
template <int Lanes>
SOTTO_INLINE void spread_signs(std::uint32_t signs, integers<Lanes>& to) noexcept {
    words<Lanes> up;
    for (int lane = 0; lane < Lanes; ++lane)
        up[lane] = Lanes == 4 ? 1u << (31 - lane) : 31u - static_cast<std::uint32_t>(lane);
    words<Lanes> bits = words<Lanes>{} + signs;
    if constexpr (Lanes == 4)  // without per-lane shifts, a multiplication
        bits = bits * up;
    else
        bits = bits << up;
    to = reinterpret_cast<integers<Lanes>>(bits) >> 31;
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
