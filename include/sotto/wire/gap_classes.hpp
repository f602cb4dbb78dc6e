#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/result.hpp"
#include "sotto/wire/bits.hpp"
#include "sotto/wire/prefix_code.hpp"

namespace sotto::wire {

/// Classes of numbers: by bit width and by the `fine` bits below the leading one. Numbers below
/// 2^(fine + 1) are classes of their own; a class of width w holds 2^w neighbours, told apart by w
/// raw bits.
///   math    w = max(0, floor(log2 g) - fine);  class = w 2^fine + floor(g / 2^w)
struct gap_classes {
    int fine = 0;  // 0..3

    constexpr int of(std::uint64_t gap) const noexcept {
        const auto bits = static_cast<int>(std::bit_width(gap | ((std::uint64_t{2} << fine) - 1)));
        const int width = bits - 1 - fine;
        return (width << fine) + static_cast<int>(gap >> width);
    }
    constexpr int width(int number) const noexcept { return std::max(0, (number >> fine) - 1); }
    constexpr int leading(int number) const noexcept { return number - (width(number) << fine); }
    constexpr std::uint64_t lowest(int number) const noexcept {
        return static_cast<std::uint64_t>(leading(number)) << width(number);
    }
};

static_assert(gap_classes{3}.of((std::uint64_t{1} << 40) - 1) < int{prefix_code::symbols_max});

/// How often each class occurs among the gaps of a list of indices.
class gap_counts {
public:
    static constexpr gap_classes finest{3};

    template <std::unsigned_integral Index>
    explicit gap_counts(std::span<const Index> indices) noexcept {
        // Two tables in turn: a count that was just written is 5 cycles away from being read again.
        std::array<std::uint64_t, prefix_code::symbols_max> odd{};
        std::uint64_t next = 0;
        std::size_t i = 0;
        for (; i + 2 <= indices.size(); i += 2) {
            ++counts_[at(finest.of(indices[i] - next))];
            ++odd[at(finest.of(indices[i + 1] - std::uint64_t{indices[i]} - 1))];
            next = std::uint64_t{indices[i + 1]} + 1;
        }
        if (i < indices.size()) ++counts_[at(finest.of(indices[i] - next))];
        for (std::size_t j = 0; j < odd.size(); ++j) counts_[j] += odd[j];
    }

    /// Makes the classes coarser: each is a union of finer ones.
    void coarsen(gap_classes coarser) noexcept {
        std::array<std::uint64_t, prefix_code::symbols_max> merged{};
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if (counts_[i] > 0)
                merged[at(coarser.of(classes_.lowest(static_cast<int>(i))))] += counts_[i];
        counts_ = merged;
        classes_ = coarser;
    }

    gap_classes classes() const noexcept { return classes_; }
    std::span<const std::uint64_t> values() const noexcept { return counts_; }

private:
    static constexpr std::size_t at(int number) noexcept {
        return static_cast<std::size_t>(number);
    }

    gap_classes classes_ = finest;
    std::array<std::uint64_t, prefix_code::symbols_max> counts_{};
};

/// Gaps as a prefix code of their class and raw bits within it.
///   wire    2 bits fine, the code's lengths, then per gap its class and width(class) raw bits
///   cost    decode about 3 ns a gap, and 2 us to build the table; 8 KB of stack
struct class_code {
    gap_classes classes;
    prefix_code code;
    std::int64_t bits = 0;  // all of them, exactly

    static class_code of(const gap_counts& counts) noexcept {
        class_code made{counts.classes(), prefix_code::of(counts.values())};
        bit_counter header;
        made.code.write(header);
        made.bits = 2 + header.bits;
        for (std::size_t i = 0; i < made.code.size(); ++i)
            made.bits += static_cast<std::int64_t>(counts.values()[i]) *
                         (made.code.length(i) + made.classes.width(static_cast<int>(i)));
        return made;
    }

    template <std::unsigned_integral Index>
    void write(std::span<const Index> indices, bit_writer& out) const {
        struct entry {
            std::uint64_t offset;
            int length, both;  // bits of code; of code and raw bits together
        };
        std::array<entry, prefix_code::symbols_max> table;
        code.for_each([&](std::size_t symbol, std::uint32_t bits_of, int length) {
            const int number = static_cast<int>(symbol);
            table[symbol] = {bits_of - (classes.lowest(number) << length), length,
                             length + classes.width(number)};
        });
        // Raw bits above the code: (gap - lowest) 2^length + code, which wraps around to be right.
        const auto entry_of = [&](std::uint64_t gap) -> const entry& {
            return table[static_cast<std::size_t>(classes.of(gap))];
        };
        const auto field = [](std::uint64_t gap, const entry& e) {
            return (gap << e.length) + e.offset;
        };
        out.put(static_cast<std::uint64_t>(classes.fine), 2);
        code.write(out);
        std::uint64_t next = 0;
        std::size_t i = 0;
        // Two gaps in one put where they fit: each put waits some 7 cycles for the one before.
        for (; i + 2 <= indices.size(); i += 2) {
            const std::uint64_t first = indices[i] - next;
            const std::uint64_t second = indices[i + 1] - std::uint64_t{indices[i]} - 1;
            const entry &a = entry_of(first), &b = entry_of(second);
            next = std::uint64_t{indices[i + 1]} + 1;
            if (a.both + b.both <= 56) [[likely]] {
                out.put(field(first, a) | field(second, b) << a.both, a.both + b.both);
            } else {
                out.put(field(first, a), a.both);
                out.put(field(second, b), b.both);
            }
        }
        if (i < indices.size()) {
            const std::uint64_t gap = indices[i] - next;
            out.put(field(gap, entry_of(gap)), entry_of(gap).both);
        }
    }

    /// Reads indices.size() indices below n.
    ///   errors  refuses an index or a class of n or more, and whatever prefix_code::read refuses
    template <std::unsigned_integral Index>
    static result<std::span<Index>> read(std::int64_t n, bit_reader& in,
                                         std::span<Index> indices) noexcept {
        const gap_classes classes{static_cast<int>(in.take(2))};
        const auto code = prefix_code::read(in);
        if (!code) return code.why();
        if (static_cast<int>(code->size()) > classes.of(static_cast<std::uint64_t>(n - 1)) + 1)
            return in.because("gap classes below the tensor's size", code->size());

        // An entry: code and raw bits together (6 bits), code bits (4), the gap's leading bits (4).
        std::array<std::uint16_t, 1 << prefix_code::length_max> table;
        const int longest = code->longest();
        code->for_each([&](std::size_t symbol, std::uint32_t bits_of, int length) {
            const int number = static_cast<int>(symbol);
            const int both = length + classes.width(number);
            const auto entry =
                static_cast<std::uint16_t>(both | length << 6 | classes.leading(number) << 10);
            for (std::size_t i = bits_of; i < std::size_t{1} << longest;
                 i += std::size_t{1} << length)
                table[i] = entry;
        });
        const std::uint64_t mask = (std::uint64_t{1} << longest) - 1;
        std::uint64_t next = 0;
        for (Index& index : indices) {
            in.refill();
            const std::uint64_t held = in.peek();
            const unsigned entry = table[held & mask];
            const int length = static_cast<int>(entry >> 6 & 15);
            const int both = static_cast<int>(entry & 63);
            const std::uint64_t raw = (held & ((std::uint64_t{1} << both) - 1)) >> length;
            next += (std::uint64_t{entry >> 10} << (both - length)) + raw;
            if (next >= static_cast<std::uint64_t>(n))
                return in.because("an index below the tensor's size", next);
            in.skip(both);
            index = static_cast<Index>(next++);
        }
        return indices;
    }
};

}  // namespace sotto::wire
