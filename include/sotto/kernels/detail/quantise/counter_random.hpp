#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// The key of the random words of 2^32 consecutive counters.
struct random_key {
    std::uint32_t first, second;
};

/// Returns the key of all counters with these upper 32 bits.
///   source  SplitMix64: Steele, Lea, Flood 2014, Fast splittable pseudorandom number generators
constexpr random_key key_of_counters(std::uint64_t seed, std::uint64_t counter) noexcept {
    const auto mix = [](std::uint64_t x) {
        x += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    };
    const std::uint64_t key = mix(mix(seed) ^ counter >> 32);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

/// The part of to_random_words after the addition of the first key.
template <class Words>
SOTTO_INLINE void scramble(std::uint32_t second, Words& words) noexcept {
    words = (words ^ words >> 16) * 0x21f0aaadu + second;
    words = (words ^ words >> 15) * 0xd35a2d97u;
    words = words ^ words >> 15;
}

/// Turns the lower halves of counters into random words, one or a vector of them. A pure function
/// of counter and key, for rounding at memory speed. All other code uses random_stream.
///   math    two rounds of shift, xor and multiplication, with the key added between them: for each
///           key a permutation of the 2^32 words
///   cost    11 operations per vector
///   source  Wellons 2018, Prospecting for hash functions (github.com/skeeto/hash-prospector)
template <class Words>
SOTTO_INLINE void to_random_words(const random_key& key, Words& counters) noexcept {
    counters = counters + key.first;
    scramble(key.second, counters);
}

/// The random words of consecutive values, 32 at a time. The first index must be a multiple of 32.
///   math    value i takes the word of counter i / 32 * 16 + i % 16, with its halves exchanged if
///           i / 16 is odd. Each word thus serves two values. Each value uses all its bits, and the
///           upper 16 bits of the two values are different halves of it
template <int Lanes>
class random_groups {
public:
    static constexpr std::size_t vectors = 32 / Lanes, half = vectors / 2;

    SOTTO_INLINE random_groups(const random_key& key, std::uint64_t index) noexcept
        : second_(key.second) {
        for (int lane = 0; lane < Lanes; ++lane) counters_[lane] = static_cast<std::uint32_t>(lane);
        counters_ = counters_ + static_cast<std::uint32_t>(index / 2) + key.first;
    }

    SOTTO_INLINE void next(words<Lanes> (&to)[vectors]) noexcept {
        for (std::size_t i = 0; i < half; ++i) {
            to[i] = counters_;
            counters_ = counters_ + static_cast<std::uint32_t>(Lanes);
            scramble(second_, to[i]);
            to[half + i] = to[i] << 16 | to[i] >> 16;
        }
    }

private:
    words<Lanes> counters_;  // with the first key added
    std::uint32_t second_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
