#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Bytes of the signs of this many values.
constexpr std::size_t bytes_of_signs(std::size_t values) noexcept {
    return values / 8 + (values % 8 != 0 ? 1 : 0);
}

/// The sign bits of Lanes floats, the first lowest.
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
        // An instruction of our own, as in operations.hpp: no mask goes through memory.
        std::uint32_t bits;
        asm("kmovw %1, %0" : "=r"(bits) : "Yk"(negative));
        return bits;
    }
};
#endif

// A word of signs is copied as it is, and its lowest byte has to come first.
static_assert(std::endian::native == std::endian::little,
              "signs have been written for little endian processors alone");

/// Values that share a word of signs.
inline constexpr std::size_t signs_in_word = 32;

/// Lanes words, of which each is all ones where the value has the sign bit.
template <int Lanes>
SOTTO_INLINE void spread_signs(std::uint32_t signs, integers<Lanes>& to) noexcept {
    words<Lanes> up;
    for (int lane = 0; lane < Lanes; ++lane)
        up[lane] = Lanes == 4 ? 1u << (31 - lane) : 31u - static_cast<std::uint32_t>(lane);
    words<Lanes> bits = words<Lanes>{} + signs;
    if constexpr (Lanes == 4)  // there, each lane's own shift is a multiplication
        bits = bits * up;
    else
        bits = bits << up;
    to = reinterpret_cast<integers<Lanes>>(bits) >> 31;
}

struct pack_signs_kernel {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, std::size_t count, std::uint8_t* to) noexcept {
        std::size_t i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word) {
            const std::uint32_t signs = word<Set>(x + i, signs_in_word);
            __builtin_memcpy(to + i / 8, &signs, sizeof signs);
        }
        if (i == count) return;
        const std::uint32_t signs = word<Set>(x + i, count - i);
        __builtin_memcpy(to + i / 8, &signs, bytes_of_signs(count - i));
    }

    template <instruction_set Set>
    SOTTO_INLINE static std::uint32_t word(const float* x, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < count; i += lanes) {
            fetch_ahead(x + i);
            floats<lanes> value;
            load_some<lanes>(value, x + i, count - i);
            signs |= sign_bits<Set>::of(value) << i;
        }
        return signs;
    }
};

/// Writes, or adds, one of two values by the sign.
template <bool Add>
struct choose_by_sign {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float& positive, const float& negative,
                                 const std::uint8_t* signs, float* to, std::size_t count) noexcept {
        std::size_t i = 0;
        for (; i + signs_in_word <= count; i += signs_in_word)
            word<Set>(positive, negative, signs + i / 8, to + i, signs_in_word);
        if (i < count) word<Set>(positive, negative, signs + i / 8, to + i, count - i);
    }

    template <instruction_set Set>
    SOTTO_INLINE static void word(float positive, float negative, const std::uint8_t* from,
                                  float* to, std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::uint32_t signs = 0;
        __builtin_memcpy(&signs, from, bytes_of_signs(count));
        for (std::size_t i = 0; i < count; i += lanes) {
            fetch_ahead(to + i);
            integers<lanes> is_negative;
            spread_signs<lanes>(signs >> i, is_negative);
            floats<lanes> value;
            choose<lanes>(is_negative, positive, negative, value);
            if constexpr (Add) {
                floats<lanes> sum;
                load_some<lanes>(sum, to + i, count - i);
                value = sum + value;
            }
            store_some<lanes>(value, to + i, count - i);
        }
    }

    template <int Lanes>
    SOTTO_INLINE static void choose(const integers<Lanes>& is_negative, float positive,
                                    float negative, floats<Lanes>& to) noexcept {
        const integers<Lanes> chosen = (is_negative & std::bit_cast<std::int32_t>(negative)) |
                                       (~is_negative & std::bit_cast<std::int32_t>(positive));
        to = reinterpret_cast<floats<Lanes>>(chosen);
    }
};

inline void require_signs(const char* function, std::size_t values, std::size_t bytes) {
    if (const std::size_t expected = bytes_of_signs(values); bytes != expected) [[unlikely]]
        refuse(function, given_size("signs", bytes),
               std::to_string(expected) + ", the bytes of " + std::to_string(values) + " signs");
}

template <bool Add>
void unpack_signs_checked(const char* function, std::span<const std::uint8_t> signs,
                          float magnitude, std::span<float> x) {
    require_signs(function, x.size(), signs.size());
    run_unfused<choose_by_sign<Add>>(sotto::kernels::best_instruction_set(), magnitude, -magnitude,
                                     signs.data(), x.data(), x.size());
}

/// The signs of n floats: bit i % 8 of byte i / 8 is 1 where x[i] has the sign bit, as -0 has; bits
/// behind the last are 0.
///   shape   signs: bytes_of_signs(n); they and x share no memory
///   cost    reads 4 bytes a value, writes an eighth of one
///   errors  invalid_option: another number of bytes
///   source  Bernstein et al. 2018, signSGD, arXiv:1802.04434
inline void pack_signs(std::span<const float> x, std::span<std::uint8_t> signs) {
    require_signs("pack_signs", x.size(), signs.size());
    run_unfused<pack_signs_kernel>(sotto::kernels::best_instruction_set(), x.data(), x.size(),
                                   signs.data());
}

/// x[i] = magnitude, negated where bit i is 1.
///   shape, cost, errors  as pack_signs
inline void unpack_signs(std::span<const std::uint8_t> signs, float magnitude, std::span<float> x) {
    unpack_signs_checked<false>("unpack_signs", signs, magnitude, x);
}

/// sum[i] += magnitude, or -= where bit i is 1.
///   shape, errors  as pack_signs
inline void unpack_signs_add(std::span<const std::uint8_t> signs, float magnitude,
                             std::span<float> sum) {
    unpack_signs_checked<true>("unpack_signs_add", signs, magnitude, sum);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
