#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto {

/// Random numbers that are a pure function of (seed, names of the splits, position). They are the
/// same on every compiler and machine, independent between streams, and can be drawn in any order.
///   math    Philox4x32-10: ten rounds of multiply, xor and key addition over a 128-bit counter
///   state   key (64 bits) and position (count of 32-bit words drawn): 16 bytes, plus one block of
///           four words
///   cost    about 4 ns a word; `split` and `seek` are O(1)
///   source  Salmon, Moraes, Dror, Shaw 2011, Parallel random numbers: as easy as 1, 2, 3 (SC'11)
class random_stream {
public:
    /// A 32-bit word. std::uniform_random_bit_generator requires this name.
    using result_type = std::uint32_t;

    /// Starts the stream of a seed.
    constexpr explicit random_stream(std::uint64_t seed = 0) noexcept : key_(seed) {}

    /// Returns an independent stream. Other names, or the same names in another order, give other
    /// streams. The position of this stream has no effect.
    constexpr random_stream split(std::uint64_t name) const noexcept {
        const block words = philox({low(name), high(name), 0x736f7474u, 0x6f737472u}, key_);
        return random_stream(words[0] | std::uint64_t{words[1]} << 32);
    }

    /// Same with a text as the name. Different texts give different streams, unless their 64-bit
    /// hashes collide.
    constexpr random_stream split(std::string_view name) const noexcept {
        std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; Philox then spreads the bits
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        return split(hash);
    }

    /// Returns the smallest word.
    static constexpr result_type(min)() noexcept { return 0; }
    /// Returns the largest word.
    static constexpr result_type(max)() noexcept {
        return (std::numeric_limits<result_type>::max)();
    }

    /// Returns the next word, uniform in 0..2^32-1.
    constexpr result_type operator()() noexcept {
        const auto lane = static_cast<std::size_t>(position_ % 4);
        if (lane == 0) refill();
        ++position_;
        return words_[lane];
    }

    /// Returns a number uniform in 0..2^64-1, made of two words, the lower one first.
    constexpr std::uint64_t bits64() noexcept {
        const std::uint64_t word = (*this)();
        return word | std::uint64_t{(*this)()} << 32;
    }

    /// Returns a number uniform in 0..bound-1, without bias; requires bound > 0.  (Lemire 2019,
    /// arXiv:1805.10941)
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        while (true) {
            const auto [upper, lower] = multiply(bits64(), bound);
            if (lower >= bound || lower >= (0 - bound) % bound) return upper;
        }
    }

    /// Returns a float uniform in [0, 1), a multiple of 2^-24, which a float holds exactly.
    constexpr float uniform() noexcept { return static_cast<float>((*this)() >> 8) * 0x1p-24f; }

    /// Returns a float uniform in [low, high); `low` if both are equal. Requires low <= high, both
    /// finite.
    constexpr float uniform(float low, float high) noexcept {
        const double part = static_cast<double>((*this)() >> 8) * 0x1p-24;
        const double width = static_cast<double>(high) - static_cast<double>(low);
        // The product is exact in double and rounded once, so no compiler fuses it with the sum. If
        // the width exceeds every float, the sum is computed in double.
        constexpr double beyond_floats = 0x1.ffffffp127;
        const float drawn = width < beyond_floats
                                ? low + static_cast<float>(static_cast<double>(high - low) * part)
                                : static_cast<float>(static_cast<double>(low) + width * part);
        // The largest parts round to `high`: return the float before it.
        return drawn < high || !(low < high) ? drawn : before(high);
    }

    /// Returns a standard normal number, by Marsaglia's polar method. Coordinates have 26 bits, so
    /// their squares are exact: fused and separate multiply-adds give the same sum.
    float normal() noexcept;

    /// Returns the key, which differs between streams.
    constexpr std::uint64_t key() const noexcept { return key_; }
    /// Returns the number of words drawn so far.
    constexpr std::uint64_t position() const noexcept { return position_; }

    /// Sets the number of words drawn so far.
    constexpr void seek(std::uint64_t position) noexcept {
        position_ = position;
        if (position % 4 != 0) refill();
    }

private:
    using block = std::array<std::uint32_t, 4>;

    /// Returns the next float towards minus infinity.
    static constexpr float before(float x) noexcept {
        const auto bits = std::bit_cast<std::uint32_t>(x);
        if (x == 0.0f) return -std::numeric_limits<float>::denorm_min();
        return std::bit_cast<float>(x > 0.0f ? bits - 1 : bits + 1);
    }

    static constexpr std::uint32_t low(std::uint64_t x) noexcept {
        return static_cast<std::uint32_t>(x);
    }
    static constexpr std::uint32_t high(std::uint64_t x) noexcept {
        return static_cast<std::uint32_t>(x >> 32);
    }

    struct wide {
        std::uint64_t upper, lower;
    };
    static constexpr wide multiply(std::uint64_t a, std::uint64_t b) noexcept {
        const std::uint64_t ll = std::uint64_t{low(a)} * low(b),
                            lh = std::uint64_t{low(a)} * high(b);
        const std::uint64_t hl = std::uint64_t{high(a)} * low(b),
                            hh = std::uint64_t{high(a)} * high(b);
        const std::uint64_t middle = high(ll) + std::uint64_t{low(lh)} + low(hl);
        return {hh + high(lh) + high(hl) + high(middle), middle << 32 | low(ll)};
    }

    static constexpr block philox(block x, std::uint64_t key) noexcept {
        std::uint32_t k0 = low(key), k1 = high(key);
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p = std::uint64_t{0xD2511F53u} * x[0],
                                q = std::uint64_t{0xCD9E8D57u} * x[2];
            x = {high(q) ^ x[1] ^ k0, low(q), high(p) ^ x[3] ^ k1, low(p)};
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        return x;
    }

    constexpr void refill() noexcept {
        const std::uint64_t counter = position_ / 4;
        words_ = philox({low(counter), high(counter), 0, 0}, key_);
    }

    std::uint64_t key_ = 0;
    std::uint64_t position_ = 0;
    block words_{};
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/random.ipp"
#endif
