#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/coding/coding_loop.hpp"
#include "sotto/wire/detail/coding/gaps.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Statistics of a list of indices for the choice of a code, from one pass: whether it rises, the
/// cost of Rice's code with a few shifts, and how often each class of gaps occurs.
///   cost    about 0.7 ns an index with AVX2; 15 KB of stack
class gap_statistics {
public:
    static constexpr std::size_t classes_max = 304;  // number of classes of gaps below 2^40
    static constexpr int shifts = 5;  // shifts of Rice's code for which bits are counted

    ///   no   skips the classes
    ///   yes  counts the classes
    enum class counting : bool { no, yes };

    /// Requires at least one index, and a last index below 2^40.
    template <std::unsigned_integral Index>
    explicit gap_statistics(std::span<const Index> indices, gap_classes classes,
                            counting counts = counting::yes) noexcept;

    /// True if each index is above the one before.
    bool rises() const noexcept { return rises_; }

    /// Returns the shift of Rice's code that the mean gap suggests.
    int likely_shift() const noexcept { return likely_shift_; }

    /// True if `quotients` has a result for this shift.
    bool has(int shift) const noexcept {
        return shift >= lowest_shift_ && shift < lowest_shift_ + shifts;
    }

    /// Returns the sum of floor(gap / 2^shift) over all gaps.
    std::uint64_t quotients(int shift) const noexcept {
        return quotients_[static_cast<std::size_t>(shift - lowest_shift_)];
    }

    /// Returns the classes that were counted.
    gap_classes classes() const noexcept { return classes_; }

    /// Returns how often each class occurs. Classes from `classes_end` on do not occur.
    const std::array<std::uint64_t, classes_max>& counts() const noexcept { return counts_; }
    /// Returns a bound above the last class that occurs.
    std::size_t classes_end() const noexcept { return classes_end_; }

private:
    struct pass;

    bool rises_ = true;
    int likely_shift_ = 0;
    int lowest_shift_ = 0;
    gap_classes classes_;
    std::size_t classes_end_ = 0;
    std::array<std::uint64_t, shifts> quotients_{};
    std::array<std::uint64_t, classes_max> counts_{};
};

static_assert(gap_classes{3}.of((std::uint64_t{1} << 40) - 1) < int{gap_statistics::classes_max});

/// The kernel. It does not look up classes of indices that do not rise: their gaps have wrapped
/// around and may be of any class.
struct gap_statistics::pass {
    /// Returns true if the indices rise; then fills the statistics.
    template <std::unsigned_integral Index>
    SOTTO_INLINE static bool run(const std::span<const Index>& indices, const counting& wanted,
                                 gap_statistics* const& to) noexcept {
        // Uses four tables in turn: a written count can be read again only after 5 cycles.
        constexpr std::size_t tables = 4;
        std::array<std::array<std::uint64_t, classes_max>, tables> counts;
        const std::size_t end = wanted == counting::yes ? to->classes_end_ : 0;
        for (auto& table : counts)
            for (std::size_t i = 0; i < end; ++i) table[i] = 0;

        alignas(64) std::array<Index, gap_chunk> gaps;
        alignas(64) std::array<std::uint32_t, gap_chunk> classes;
        const std::size_t k = indices.size();
        const int lowest = to->lowest_shift_;
        std::array<std::uint64_t, shifts> quotients{};
        for (std::size_t start = 0; start < k; start += gap_chunk) {
            const std::size_t count = (std::min)(gap_chunk, k - start);
            // Rising indices are at most the last one, so no class is out of bounds.
            if (!gaps_of(indices.data(), start, count, gaps.data()) ||
                indices[start + count - 1] > indices.back())
                return false;

            // The sum of the gaps of rising indices fits an Index.
            Index q0 = 0, q1 = 0, q2 = 0, q3 = 0, q4 = 0;
            for (std::size_t i = 0; i < count; ++i) {
                Index q = static_cast<Index>(gaps[i] >> lowest);
                q0 += q;
                q1 += q >>= 1;
                q2 += q >>= 1;
                q3 += q >>= 1;
                q4 += q >> 1;
            }
            quotients[0] += q0;
            quotients[1] += q1;
            quotients[2] += q2;
            quotients[3] += q3;
            quotients[4] += q4;

            if (end == 0) continue;
            classes_of(to->classes_, gaps.data(), count, classes.data());
            std::size_t i = 0;
            for (; i + tables <= count; i += tables) {
                ++counts[0][classes[i]];
                ++counts[1][classes[i + 1]];
                ++counts[2][classes[i + 2]];
                ++counts[3][classes[i + 3]];
            }
            for (; i < count; ++i) ++counts[0][classes[i]];
        }
        to->quotients_ = quotients;
        for (std::size_t i = 0; i < end; ++i)
            to->counts_[i] = counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
        return true;
    }
};

template <std::unsigned_integral Index>
gap_statistics::gap_statistics(std::span<const Index> indices, gap_classes classes,
                               counting counts) noexcept
    : classes_(classes) {
    const std::uint64_t mean = indices.back() / indices.size();
    likely_shift_ = (std::max)(0, static_cast<int>(std::bit_width(mean)) - 2);
    lowest_shift_ = (std::max)(0, likely_shift_ - 2);
    // In a rising list no gap is longer than the last index.
    classes_end_ = static_cast<std::size_t>(classes.of(indices.back())) + 1;
    rises_ = run_coding_loop<pass>(indices, counts, this);
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
