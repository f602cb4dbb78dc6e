#pragma once

#include "sotto/kernels/detail/simd/digest.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/xxhash.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

template <int Lanes>
using long_words = typename vector_of<std::uint64_t, Lanes>::type;

/// Multiplies the lower halves of lanes with their upper halves. g++ 12 compiles the expression to
/// full 64-bit multiplications, which cost three times as much.
SOTTO_AVX2 inline void multiply_halves(const long_words<4>& of, long_words<4>& to) noexcept {
#if defined(__x86_64__) && !defined(__clang__)
    to = long_words<4>(__builtin_ia32_pmuludq256(integers<8>(of), integers<8>(of >> 32)));
#else
    to = (of & 0xFFFFFFFF) * (of >> 32);
#endif
}

SOTTO_AVX512 inline void multiply_halves(const long_words<8>& of, long_words<8>& to) noexcept {
#if defined(__x86_64__) && !defined(__clang__)
    to = long_words<8>(__builtin_ia32_pmuludq512_mask(integers<16>(of), integers<16>(of >> 32),
                                                      builtin_vectors<64>::pairs{}, 0xFF));
#else
    to = (of & 0xFFFFFFFF) * (of >> 32);
#endif
}

SOTTO_INLINE void swap_neighbours(const long_words<4>& of, long_words<4>& to) noexcept {
    to = __builtin_shufflevector(of, of, 1, 0, 3, 2);
}

SOTTO_INLINE void swap_neighbours(const long_words<8>& of, long_words<8>& to) noexcept {
    to = __builtin_shufflevector(of, of, 1, 0, 3, 2, 5, 4, 7, 6);
}

/// Constants of XXH3's specification.
struct xxh3 {
    static constexpr std::size_t stripe = 64, block = 1024, secret_bytes = 192;
    static constexpr std::uint64_t prime32_1 = 0x9E3779B1, prime32_2 = 0x85EBCA77,
                                   prime32_3 = 0xC2B2AE3D, prime64_1 = 0x9E3779B185EBCA87,
                                   prime64_2 = 0xC2B2AE3D27D4EB4F, prime64_3 = 0x165667B19E3779F9,
                                   prime64_4 = 0x85EBCA77C2B2AE63, prime64_5 = 0x27D4EB2F165667C5;

    using sums = std::array<std::uint64_t, 8>;
    static constexpr sums begin{prime32_3, prime64_1, prime64_2, prime64_3,
                                prime64_4, prime32_2, prime64_5, prime32_1};
};

/// XXH3's eight sums of more than 1024 bytes, in one register or two.
struct xxh3_sums {
    template <instruction_set Set>
    SOTTO_INLINE static xxh3::sums run(const std::byte* in, std::size_t count,
                                       const std::byte* secret) noexcept {
        constexpr std::size_t lanes = Set == instruction_set::avx512 ? 8 : 4, registers = 8 / lanes;
        using vector = long_words<lanes>;
        xxh3::sums sums = xxh3::begin;
        vector sum[registers];
#pragma GCC unroll 2
        for (std::size_t r = 0; r < registers; ++r) load(sum[r], sums.data() + r * lanes);
        const auto add = [&](const std::byte* stripe, const std::byte* with) {
#pragma GCC unroll 2
            for (std::size_t r = 0; r < registers; ++r) {
                vector data, key, product, swapped;
                load(data, stripe + r * sizeof data);
                load(key, with + r * sizeof key);
                multiply_halves(data ^ key, product);
                swap_neighbours(data, swapped);
                sum[r] += product + swapped;
            }
        };
        const std::byte* const end = in + count;
        const std::byte* const last_key = secret + xxh3::secret_bytes - xxh3::stripe;
        while (static_cast<std::size_t>(end - in) > xxh3::block) {
#pragma GCC unroll 16
            for (std::size_t s = 0; s < xxh3::block / xxh3::stripe; ++s, in += xxh3::stripe) {
                __builtin_prefetch(in + 8 * xxh3::stripe);
                add(in, secret + 8 * s);
            }
#pragma GCC unroll 2
            for (std::size_t r = 0; r < registers; ++r) {
                vector key;
                load(key, last_key + r * sizeof key);
                sum[r] = (sum[r] ^ (sum[r] >> 47) ^ key) * xxh3::prime32_1;
            }
        }
        for (std::size_t s = 0; static_cast<std::size_t>(end - in) > xxh3::stripe;
             ++s, in += xxh3::stripe)
            add(in, secret + 8 * s);
        add(end - xxh3::stripe, last_key - 7);
#pragma GCC unroll 2
        for (std::size_t r = 0; r < registers; ++r) store(sum[r], sums.data() + r * lanes);
        return sums;
    }
};

/// For processors with AVX2 or AVX-512, and more than 1024 bytes.
inline std::uint64_t long_digest(byte_view content, std::uint64_t seed) noexcept {
    std::array<std::byte, xxh3::secret_bytes> secret;
    XXH3_generateSecret_fromSeed(secret.data(), seed);
    const auto run = sotto::kernels::best_instruction_set() == instruction_set::avx512
                         ? run_avx512<xxh3_sums, const std::byte*, std::size_t, std::byte*>
                         : run_avx2<xxh3_sums, const std::byte*, std::size_t, std::byte*>;
    const auto sums = run(content.data(), content.size(), secret.data());
    std::uint64_t digest = content.size() * xxh3::prime64_1;
    for (std::size_t pair = 0; pair < 4; ++pair) {
        std::uint64_t key[2];
        __builtin_memcpy(key, secret.data() + 11 + 16 * pair, sizeof key);
        __extension__ using wide = unsigned __int128;
        const wide product = wide{sums[2 * pair] ^ key[0]} * (sums[2 * pair + 1] ^ key[1]);
        digest += static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    digest = (digest ^ (digest >> 37)) * 0x165667919E3779F9;
    return digest ^ (digest >> 32);
}

SOTTO_DECL std::uint64_t digest(byte_view content, std::uint64_t seed) noexcept {
#if defined(SOTTO_DISPATCHES) && XXH_VERSION_NUMBER >= 801
    if (content.size() > xxh3::block &&
        sotto::kernels::best_instruction_set() >= instruction_set::avx2)
        return long_digest(content, seed);
#endif
    return XXH3_64bits_withSeed(content.data(), content.size(), seed);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
