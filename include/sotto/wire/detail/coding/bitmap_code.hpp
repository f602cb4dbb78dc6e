#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bits.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Indices as n bits: bit i is 1 if i is an index. The code for about half of all elements. (Rice's
/// code with shift 0 takes as many bits, and its header.)
struct bitmap_code {
    static constexpr int word_bits = 48;  // a multiple of 8 that fits one put or take

    /// Appends n bits for rising indices below n.
    template <std::unsigned_integral Index>
    static void write(std::int64_t n, std::span<const Index> indices, bit_writer& out) {
        std::size_t i = 0;
        for (std::int64_t start = 0; start < n; start += word_bits) {
            const int count = static_cast<int>(std::min<std::int64_t>(word_bits, n - start));
            std::uint64_t word = 0;
            for (; i < indices.size() && static_cast<std::int64_t>(indices[i]) < start + count; ++i)
                word |= std::uint64_t{1} << (static_cast<std::int64_t>(indices[i]) - start);
            out.put(word, count);
        }
    }

    /// Reads exactly indices.size() indices below n.
    ///   errors  refuses another number of ones
    template <std::unsigned_integral Index>
    static result<std::span<Index>> read(std::int64_t n, bit_reader& in,
                                         std::span<Index> indices) noexcept {
        if (in.bits_left() < n) return in.because("a bit for every element", std::uint64_t(n));
        std::size_t i = 0;
        for (std::int64_t start = 0; start < n; start += word_bits) {
            std::uint64_t word =
                in.take(static_cast<int>(std::min<std::int64_t>(word_bits, n - start)));
            if (static_cast<std::size_t>(std::popcount(word)) > indices.size() - i)
                return in.because("as many ones as entries", indices.size());
            for (; word != 0; word &= word - 1)
                indices[i++] = static_cast<Index>(start + std::countr_zero(word));
        }
        if (i != indices.size()) return in.because("as many ones as entries", i);
        return indices;
    }
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
