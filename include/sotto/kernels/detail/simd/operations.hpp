#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Operations that the compilers' own vectors lack, for each instruction set. They use builtins
// common to both compilers, because the header of the intrinsics takes 0.3 s to compile.

/// For every choice of Lanes lanes, the bytes of the chosen ones at the front: the index of a byte
/// shuffle.
template <std::size_t Lanes>
struct shuffle_table {
    alignas(64) std::array<std::array<std::uint8_t, 4 * Lanes>, std::size_t{1} << Lanes> rows{};

    constexpr shuffle_table() noexcept {
        for (std::size_t chosen = 0; chosen < rows.size(); ++chosen) {
            std::size_t to = 0;
            for (std::size_t lane = 0; lane < Lanes; ++lane)
                if ((chosen >> lane & 1) != 0)
                    for (std::size_t byte = 0; byte < 4; ++byte)
                        rows[chosen][to++] = static_cast<std::uint8_t>(4 * lane + byte);
        }
    }
};

/// For every choice of eight lanes, the numbers of the chosen ones, a nibble each, the first
/// lowest.
struct lane_table {
    std::array<std::uint32_t, 256> rows{};

    constexpr lane_table() noexcept {
        for (std::uint32_t chosen = 0; chosen < 256; ++chosen) {
            int to = 0;
            for (std::uint32_t lane = 0; lane < 8; ++lane)
                if ((chosen >> lane & 1) != 0) rows[chosen] |= lane << 4 * to++;
        }
    }
};

inline constexpr shuffle_table<4> shuffles;
inline constexpr lane_table lane_numbers;

/// Two operations on Lanes words in a register:
///   reaching   returns a bit for each word that is at least `least`, the first lowest; all are
///              below 2^31
///   keep       writes the chosen words contiguously to `to`, then any values; there must be room
///              for all
template <instruction_set Set>
struct operations {
    static constexpr int lanes = lanes_of(Set);

    static std::uint32_t reaching(const words<lanes>& magnitudes, std::uint32_t least) noexcept {
#if defined(__x86_64__)
        const auto reached = integers<4>(magnitudes) >= static_cast<std::int32_t>(least);
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps(floats<4>(reached)));
#elif defined(__aarch64__)
        const uint32x4_t weights = {1, 2, 4, 8};
        const uint32x4_t reached =
            vcgeq_u32(reinterpret_cast<const uint32x4_t&>(magnitudes), vdupq_n_u32(least));
        return vaddvq_u32(vandq_u32(reached, weights));
#else
        std::uint32_t bits = 0;
        for (int lane = 0; lane < lanes; ++lane)
            bits |= (magnitudes[lane] >= least ? 1u : 0u) << lane;
        return bits;
#endif
    }

    static void keep(const words<lanes>& from, std::uint32_t chosen, void* to) noexcept {
#if defined(__aarch64__)
        const uint8x16_t order = vld1q_u8(shuffles.rows[chosen].data());
        vst1q_u8(static_cast<std::uint8_t*>(to),
                 vqtbl1q_u8(reinterpret_cast<const uint8x16_t&>(from), order));
#else
        std::uint32_t values[std::size_t{lanes}];
        store(from, values);
        auto* at = static_cast<std::byte*>(to);
        for (; chosen != 0; chosen &= chosen - 1, at += sizeof values[0])
            __builtin_memcpy(at, &values[std::countr_zero(chosen)], sizeof values[0]);
#endif
    }
};

#if defined(__x86_64__)
template <>
struct operations<instruction_set::sse4_2> {
    static constexpr int lanes = 4;

    SOTTO_SSE42 static std::uint32_t reaching(const words<4>& magnitudes,
                                              std::uint32_t least) noexcept {
        return operations<instruction_set::baseline>::reaching(magnitudes, least);
    }

    SOTTO_SSE42 static void keep(const words<4>& from, std::uint32_t chosen, void* to) noexcept {
        builtin_vectors<16>::bytes order;
        load(order, shuffles.rows[chosen].data());
        store(__builtin_ia32_pshufb128(builtin_vectors<16>::bytes(from), order), to);
    }
};

template <>
struct operations<instruction_set::avx2> {
    static constexpr int lanes = 8;

    SOTTO_AVX2 static std::uint32_t reaching(const words<8>& magnitudes,
                                             std::uint32_t least) noexcept {
        const auto reached = integers<8>(magnitudes) >= static_cast<std::int32_t>(least);
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps256(floats<8>(reached)));
    }

    SOTTO_AVX2 static void keep(const words<8>& from, std::uint32_t chosen, void* to) noexcept {
        // A permutation uses only the low three bits of each lane, so nibbles need no mask.
        constexpr words<8> nibbles = {0, 4, 8, 12, 16, 20, 24, 28};
        const words<8> numbers = lane_numbers.rows[chosen] >> nibbles;
        store(__builtin_ia32_permvarsi256(integers<8>(from), integers<8>(numbers)), to);
    }
};

template <>
struct operations<instruction_set::avx512> {
    static constexpr int lanes = 16;
    static constexpr int not_less = 5;  // a predicate of comparisons
    static constexpr std::uint16_t all_lanes = 0xFFFF;

    SOTTO_AVX512 static std::uint32_t reaching(const words<16>& magnitudes,
                                               std::uint32_t least) noexcept {
        const auto reached = __builtin_ia32_ucmpd512_mask(
            integers<16>(magnitudes), integers<16>(words<16>{} + least), not_less, all_lanes);
        // Inline assembly: if registers are short, g++ 12 stores the 16 bits of a mask and then
        // loads 32.
        std::uint32_t bits;
        asm("kmovw %1, %0" : "=r"(bits) : "Yk"(reached));
        return bits;
    }

    SOTTO_AVX512 static void keep(const words<16>& from, std::uint32_t chosen, void* to) noexcept {
        // Compresses in a register: a compressing store is many times slower on some processors.
        const integers<16> none{};
        store(__builtin_ia32_compresssi512_mask(integers<16>(from), none,
                                                static_cast<std::uint16_t>(chosen)),
              to);
    }
};
#endif

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
