#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// The symbols of a prefix code that occur, plus another if there is only one, rarest first. Among
/// equal counts the lower symbol is first.
///   cost    one pass over them for every six bits of the largest count. Branches on counts, as in
///           a sort by comparison, take four times as long on new counts
class sorted_counts {
public:
    static constexpr std::size_t symbols_max = 304;  // most symbols of a code

    /// Requires 2 to 304 counts, not all 0, each below 2^48.
    explicit sorted_counts(std::span<const std::uint64_t> counts) noexcept {
        std::uint64_t all = 0;
        for (std::size_t symbol = 0; symbol < counts.size(); ++symbol) {
            entries_[size_] = counts[symbol] << symbol_bits | symbol;
            size_ += counts[symbol] > 0;
            all |= counts[symbol];
        }
        if (size_ == 1) {
            // Its count is 0, so it is first.
            entries_[1] = entries_[0];
            entries_[0] = symbol(0) == 0 ? 1 : 0;
            size_ = 2;
        }
        for (int shift = 0; all >> shift != 0; shift += digit_bits) sort_by(shift + symbol_bits);
        entries_[size_] = 0;
    }

    /// Returns the number of symbols.
    std::size_t size() const noexcept { return size_; }
    /// Returns the i-th symbol, rarest first.
    std::size_t symbol(std::size_t i) const noexcept { return entries_[i] & 0xFFFF; }
    /// Returns the i-th count. After the last symbol it exceeds any sum of counts, so it is never
    /// chosen.
    std::uint64_t count(std::size_t i) const noexcept {
        return entries_[i] >> symbol_bits | (0 - std::uint64_t{i == size_});
    }

private:
    static constexpr int symbol_bits = 16;
    static constexpr int digit_bits = 6;

    void sort_by(int shift) noexcept {
        constexpr std::size_t digits = std::size_t{1} << digit_bits;
        std::array<std::uint16_t, digits> place{};
        const auto digit = [=](std::uint64_t entry) { return entry >> shift & (digits - 1); };
        for (std::size_t i = 0; i < size_; ++i) ++place[digit(entries_[i])];
        std::uint16_t start = 0;
        for (std::uint16_t& p : place)
            start = static_cast<std::uint16_t>(start + std::exchange(p, start));
        std::array<std::uint64_t, symbols_max + 1> sorted;
        for (std::size_t i = 0; i < size_; ++i) sorted[place[digit(entries_[i])]++] = entries_[i];
        std::copy_n(sorted.begin(), size_, entries_.begin());
    }

    std::array<std::uint64_t, symbols_max + 1> entries_;  // count above 16 bits of symbol
    std::size_t size_ = 0;
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
