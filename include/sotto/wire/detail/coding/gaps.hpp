#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Classes of numbers, by bit width and by the `fine` bits below the leading one. Each number below
/// 2^(fine + 1) is a class. A class of width w holds 2^w neighbours, which w raw bits distinguish.
///   math    w = max(0, floor(log2 g) - fine);  class = w 2^fine + floor(g / 2^w)
struct gap_classes {
    int fine = 0;  // 0..3

    /// Returns the class of a number.
    constexpr int of(std::uint64_t gap) const noexcept {
        const auto bits = static_cast<int>(std::bit_width(gap | ((std::uint64_t{2} << fine) - 1)));
        const int width = bits - 1 - fine;
        return (width << fine) + static_cast<int>(gap >> width);
    }
    /// Returns the raw bits of a number of this class.
    constexpr int width(int number) const noexcept { return (std::max)(0, (number >> fine) - 1); }
    /// Returns the bits of its numbers that the class determines, as a number.
    constexpr int leading(int number) const noexcept { return number - (width(number) << fine); }
    /// Returns the lowest number of this class.
    constexpr std::uint64_t lowest(int number) const noexcept {
        return static_cast<std::uint64_t>(leading(number)) << width(number);
    }
};

/// Computes the classes of `count` gaps, in a loop that compilers vectorise. Vectors cannot count
/// leading zeros, but conversion to float also finds the highest bit.
///   math    Let h = floor(g / 2), whose sign bit is 0. For g >= 2^(fine + 1), the exponent of h
///           and its `fine` highest fraction bits, as one number, are the class plus a constant.
///           Rounding must not reach these bits: h & ~(h / 2^8) has the same 8 highest bits and a 0
///           below them, where every carry ends
SOTTO_INLINE void classes_of(gap_classes classes, const std::uint32_t* gaps, std::size_t count,
                             std::uint32_t* to) noexcept {
    const int fine = classes.fine;
    const auto first_wide = std::uint32_t{1} << fine;  // for half a gap
    const std::uint32_t constant = static_cast<std::uint32_t>(125 + fine) << fine;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t gap = gaps[i], half = gap >> 1;
        const auto kept = static_cast<float>(static_cast<std::int32_t>(half & ~(half >> 8)));
        const std::uint32_t wide = (std::bit_cast<std::uint32_t>(kept) >> (23 - fine)) - constant;
        const std::uint32_t is_wide = 0u - static_cast<std::uint32_t>(half >= first_wide);
        to[i] = (wide & is_wide) | (gap & ~is_wide);
    }
}

/// Same for tensors of more than 2^32 elements.
SOTTO_INLINE void classes_of(gap_classes classes, const std::uint64_t* gaps, std::size_t count,
                             std::uint32_t* to) noexcept {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<std::uint32_t>(classes.of(gaps[i]));
}

/// Number of gaps that are processed together: they and their classes stay in the L1 cache.
inline constexpr std::size_t gap_chunk = 512;

/// Computes the gaps of `count` indices from indices[start] on: the number of elements left out
/// before each. Returns true if the indices rise, starting from the one before `start`; otherwise
/// `to` is useless.
template <std::unsigned_integral Index>
SOTTO_INLINE bool gaps_of(const Index* indices, std::size_t start, std::size_t count,
                          Index* to) noexcept {
    std::size_t i = 0;
    if (start == 0) to[i++] = indices[0];
    Index falls = 0;
    for (; i < count; ++i) {
        const Index index = indices[start + i], last = indices[start + i - 1];
        falls |= static_cast<Index>(index <= last);
        to[i] = index - last - 1;
    }
    return falls == 0;
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
