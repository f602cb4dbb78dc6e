#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/simd/operations.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Magnitudes from `lowest` to `highest`, both included.
struct magnitude_range {
    std::uint32_t lowest = 0;
    std::uint32_t highest = magnitude_bits;
};

/// Numbers of magnitudes of a list above a range, and in it.
struct range_counts {
    std::size_t above = 0;
    std::size_t inside = 0;
};

/// Copies the magnitudes within a range to `to`, which may be the list itself and needs room for
/// one register more than their number.
struct extract_range {
    template <instruction_set Set>
    SOTTO_INLINE static range_counts run(const float* from, std::size_t count,
                                         const magnitude_range& range, float* to) noexcept {
        using operation = operations<Set>;
        constexpr std::size_t lanes = operation::lanes;
        std::size_t reached = 0, inside = 0, i = 0;
        // No magnitude is above the largest number, and one more than it would be negative.
        const std::uint32_t above = (std::min)(range.highest + 1, magnitude_bits);
        const bool all = range.highest == magnitude_bits;
        for (; i + lanes <= count; i += lanes) {
            words<lanes> magnitudes;
            load(magnitudes, from + i);
            magnitudes = magnitudes & magnitude_bits;
            const std::uint32_t low = operation::reaching(magnitudes, range.lowest);
            const std::uint32_t high = all ? 0u : operation::reaching(magnitudes, above);
            operation::keep(magnitudes, low & ~high, to + inside);
            reached += static_cast<std::size_t>(std::popcount(low));
            inside += static_cast<std::size_t>(std::popcount(low & ~high));
        }
        for (; i < count; ++i) {
            const std::uint32_t magnitude = magnitude_of(from[i]);
            if (magnitude < range.lowest) continue;
            ++reached;
            if (magnitude <= range.highest) to[inside++] = std::bit_cast<float>(magnitude);
        }
        return {reached - inside, inside};
    }
};

/// A magnitude of a list and the number of larger ones.
struct ranked_magnitude {
    std::uint32_t magnitude = 0;
    std::size_t above = 0;
};

/// Private to this translation unit, like the standard library's code for it. With a type shared by
/// all units, the linker could pick another unit's code.
struct larger {
    constexpr bool operator()(std::uint32_t a, std::uint32_t b) const noexcept { return a > b; }
};

/// Returns the rank-th largest, 1 <= rank <= count, digit by digit: always three reads.
inline ranked_magnitude rank_by_digits(const float* from, std::size_t count, std::size_t rank) {
    constexpr int digit_bits = 11;
    const std::size_t first_rank = rank;
    std::uint32_t found = 0;
    for (int shift = 22; shift >= 0; shift -= digit_bits) {
        std::array<std::size_t, std::size_t{1} << digit_bits> counts{};
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t magnitude = magnitude_of(from[i]);
            if ((magnitude >> shift) >> digit_bits == found) {
                const std::uint32_t digit = magnitude >> shift & ((1u << digit_bits) - 1);
                ++counts[digit];
            }
        }
        std::uint32_t digit = (1u << digit_bits) - 1;
        for (; rank > counts[digit]; --digit) rank -= counts[digit];
        found = found << digit_bits | digit;
    }
    return {found, first_rank - rank};
}

/// Finds the rank-th largest magnitude of a list.
class magnitude_ranker {
public:
    /// Allocates memory for lists of `count` values.
    void reserve(std::size_t count) { inside_.reserve(count + lanes_max); }

    /// Returns the bits of the rank-th largest magnitude, 1 <= rank <= values.size(), and the
    /// number of larger ones.
    ///   cost    little more than one read: a sample gives a range that excludes most values, the
    ///           others are copied, and so on. Three misleading samples cost up to two reads each;
    ///           after them, three reads count digits
    ranked_magnitude rank(std::span<const float> values, std::size_t rank) {
        magnitude_range range;
        std::span<const float> members = values;
        std::size_t above = 0;
        bool stuck = false;
        for (int misled = 0; members.size() > few;) {
            if (range.lowest == range.highest) return {range.lowest, above};
            const std::size_t left = rank - above;
            if (misled == misled_max)
                return above_all(rank_by_digits(members.data(), members.size(), left), above);
            // A range with nearly all members is useless. The next one is a single magnitude in
            // their middle, which many members share or which divides the others.
            const magnitude_range narrow =
                stuck ? middle_of(members) : sampled_range(members, left, range);
            const range_counts found = extract(members, narrow);
            if (found.above < left && left <= found.above + found.inside) {
                above += found.above;
                range = narrow;
                stuck = found.inside > members.size() / 8 * 7;
                misled += stuck ? 1 : 0;
                members = {inside_.data(), found.inside};
            } else {
                // Only the list itself still has all members; extracts the correct side of it.
                if (left <= found.above)
                    range.lowest = narrow.highest + 1;
                else
                    range.highest = narrow.lowest - 1;
                const range_counts others = extract(values, range);
                above = others.above;
                stuck = false;
                ++misled;
                members = {inside_.data(), others.inside};
            }
        }
        return above_all(rank_few(members, rank - above), above);
    }

    /// Returns a probable range of the rank-th of `count` values: three standard deviations around
    /// its rank in a sample of their magnitudes. Reorders the sample.
    static magnitude_range probable_range(std::span<std::uint32_t> sample, std::size_t count,
                                          std::size_t rank, const magnitude_range& known = {}) {
        const double share = static_cast<double>(rank) / static_cast<double>(count);
        const double expected = share * static_cast<double>(sample.size());
        const double margin = 3.0 * std::sqrt(expected * (1.0 - share)) + 1.0;
        auto rest = sample.begin();  // not larger than the values before it
        const auto nth = [&](double place) {
            const auto at = sample.begin() + static_cast<std::ptrdiff_t>(place);
            std::nth_element(rest, at, sample.end(), larger());
            rest = at;
            return *at;
        };
        magnitude_range range = known;
        if (expected - margin >= 1.0) range.highest = nth(expected - margin - 1.0);
        if (expected + margin < static_cast<double>(sample.size()))
            range.lowest = nth(expected + margin);
        return range;
    }

private:
    static constexpr std::size_t few = 256;
    static constexpr std::size_t sample_min = 128, sample_max = 1024;
    static constexpr int misled_max = 3;

    range_counts extract(std::span<const float> from, const magnitude_range& range) noexcept {
        return run_unfused<extract_range>(sotto::kernels::best_instruction_set(), from.data(),
                                          from.size(), range, inside_.data());
    }

    static magnitude_range middle_of(std::span<const float> values) {
        const magnitude_range around = sampled_range(values, values.size() / 2, magnitude_range{});
        return {around.highest, around.highest};
    }

    static magnitude_range sampled_range(std::span<const float> values, std::size_t rank,
                                         const magnitude_range& known) {
        std::array<std::uint32_t, sample_max> sample;
        const std::size_t sampled = std::clamp(values.size() / 256, sample_min, sample_max);
        for (std::size_t i = 0; i < sampled; ++i) {
            const std::uint64_t random = (i + 1) * 0x9E3779B97F4A7C15u >> 32;
            sample[i] = magnitude_of(values[static_cast<std::size_t>(random % values.size())]);
        }
        return probable_range({sample.data(), sampled}, values.size(), rank, known);
    }

    static ranked_magnitude above_all(ranked_magnitude of_members, std::size_t others) noexcept {
        return {of_members.magnitude, of_members.above + others};
    }

    static ranked_magnitude rank_few(std::span<const float> values, std::size_t rank) {
        std::array<std::uint32_t, few> room;
        const std::span magnitudes = std::span(room).first(values.size());
        std::transform(values.begin(), values.end(), magnitudes.begin(),
                       [](float value) { return magnitude_of(value); });
        const auto at = magnitudes.begin() + static_cast<std::ptrdiff_t>(rank - 1);
        std::nth_element(magnitudes.begin(), at, magnitudes.end(), larger());
        const auto above = std::count_if(magnitudes.begin(), at,
                                         [&](std::uint32_t magnitude) { return magnitude > *at; });
        return {*at, static_cast<std::size_t>(above)};
    }

    uninitialised<float> inside_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
