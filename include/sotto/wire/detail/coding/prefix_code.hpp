#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/sorted_counts.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// A prefix code for at most 304 symbols, given by the length of every symbol's code: 0 if a symbol
/// does not occur, else at most 12. The codes follow from the lengths (canonical: by length, then
/// by symbol). They always fill the code space: the sum of 2^-length is exactly 1.
///   wire    lengths from symbol 0 until the space is full, each relative to the last one that was
///           not 0 (at first 6), bits in sending order: 0 the same; 10 one more; 110 one less; 1110
///           a run of unused symbols, its length in Elias gamma; 1111 another length, in 4 bits.
///           About 2 bits for each symbol that occurs
///   errors  read refuses anything that write would not have written, and a space not exactly
///           filled
///   source  Huffman 1952; two queues instead of a heap: van Leeuwen 1976
class prefix_code {
public:
    static constexpr int length_max = 12;  // a table of 2^12 entries of 2 bytes decodes it: 8 KB
    static constexpr std::size_t symbols_max = sorted_counts::symbols_max;  // in a code

    /// Returns a code for symbols that occur `counts[i]` times. It is optimal, or almost optimal if
    /// the optimum has codes that are too long. At least two symbols get a code, because a single
    /// code would have no bits. Requires 2 to 304 counts, not all 0, each below 2^48.
    ///   cost    about 15 ns for each symbol that occurs; no memory except the stack
    static prefix_code of(std::span<const std::uint64_t> counts) noexcept {
        const sorted_counts sorted(counts);
        const census symbols = limited(census_of_tree(sorted));
        prefix_code code;
        std::size_t next = 0;
        for (int length = length_max; length > 0; --length)
            for (std::uint64_t left = symbols[index(length)]; left > 0; --left)
                code.set(sorted.symbol(next++), length);
        return code;
    }

    /// Returns one more than the largest symbol that has a code.
    std::size_t size() const noexcept { return size_; }

    /// Returns the bits of a symbol's code; 0 if it has none.
    int length(std::size_t symbol) const noexcept { return lengths_[symbol]; }

    /// Returns the bits of the longest code.
    int longest() const noexcept {
        return *std::max_element(lengths_.begin(), lengths_.begin() + std::ptrdiff_t(size_));
    }

    /// Calls visit(symbol, bits, length) for every symbol with a code; the lowest bit is sent
    /// first.
    template <class Visit>
    void for_each(Visit visit) const {
        census next = first_codes(symbols_of_length());
        for (std::size_t symbol = 0; symbol < size_; ++symbol)
            if (const int length = lengths_[symbol]; length > 0)
                visit(symbol, static_cast<std::uint32_t>(mirrored(next[index(length)]++, length)),
                      length);
    }

    /// Sets the entry of every number below 2^longest to entry_of(symbol, length) of the code at
    /// its start. Returns the longest length.
    ///   cost    each code is written once; the table doubles with each length
    template <class Table, class EntryOf>
    int fill_table(Table& table, EntryOf entry_of) const {
        const census symbols = symbols_of_length();
        census next = first_codes(symbols);
        std::array<std::uint16_t, symbols_max> in_order;  // by length, then by symbol
        census place{};
        for (int length = 1; length < length_max; ++length)
            place[index(length) + 1] = place[index(length)] + symbols[index(length)];
        for (std::size_t symbol = 0; symbol < size_; ++symbol)
            if (lengths_[symbol] > 0)
                in_order[place[lengths_[symbol]]++] = static_cast<std::uint16_t>(symbol);

        int length = 0;
        std::size_t at = 0;
        table[0] = {};  // before the first code
        for (std::uint32_t space = 0; space != full_space;) {
            const std::size_t size = std::size_t{1} << length++;
            std::copy_n(table.begin(), size, table.begin() + std::ptrdiff_t(size));
            for (std::uint64_t left = symbols[index(length)]; left > 0; --left, ++at) {
                const std::size_t symbol = in_order[at];
                table[mirrored(next[index(length)]++, length)] = entry_of(symbol, length);
                space += full_space >> length;
            }
        }
        return length;
    }

    /// Writes the lengths to a bit_writer, or to a bit_counter to get their size.
    template <class Sink>
    void write(Sink& out) const {
        int last = first_guess;
        for (std::size_t symbol = 0; symbol < size_;) {
            const int length = lengths_[symbol];
            if (length == 0) {
                const std::size_t start = symbol;
                while (lengths_[symbol] == 0) ++symbol;
                out.put(0b0111, 4);
                const auto run = std::uint64_t{symbol - start};
                const int width = static_cast<int>(std::bit_width(run)) - 1;
                out.put(std::uint64_t{1} << width, width + 1);
                out.put(run - (std::uint64_t{1} << width), width);
                continue;
            }
            if (length == last)
                out.put(0b0, 1);
            else if (length == last + 1)
                out.put(0b01, 2);
            else if (length == last - 1)
                out.put(0b011, 3);
            else
                out.put(0b1111 | static_cast<unsigned>(length) << 4, 8);
            last = length;
            ++symbol;
        }
    }

    /// Reads what write wrote; returns a fault for lengths that do not fill the space.
    static result<prefix_code> read(bit_reader& in) noexcept {
        prefix_code code;
        int last = first_guess;
        bool after_run = false;
        std::size_t symbol = 0;
        for (std::uint32_t space = 0; space != full_space;) {
            in.refill();
            const int kind = (std::min)(4, std::countr_one(in.peek()));
            in.skip((std::min)(4, kind + 1));
            if (kind == 3) {
                const int width = std::countr_zero(in.peek() | 0x200);
                in.skip(width + 1);
                const std::uint64_t run = (std::uint64_t{1} << width) + in.peek(width);
                in.skip(width);
                if (after_run || run >= symbols_max - symbol)
                    return in.because("a run of unused symbols inside the alphabet", run);
                symbol += run;
                after_run = true;
                continue;
            }
            const int length =
                kind == 4 ? static_cast<int>(in.peek(4)) : last + (kind == 1) - (kind == 2);
            if (kind == 4) in.skip(4);
            if (length < 1 || length > length_max || (kind == 4 && std::abs(length - last) <= 1))
                return in.because("a code length from 1 to 12 in its shortest form",
                                  std::uint64_t(length));
            if (symbol == symbols_max || space + (full_space >> length) > full_space ||
                in.overrun())
                return in.because("code lengths that fill the code space", symbol);
            space += full_space >> length;
            code.set(symbol++, length);
            last = length;
            after_run = false;
        }
        return code;
    }

private:
    using census = std::array<std::uint64_t, length_max + 1>;  // number of symbols of each length

    static constexpr std::uint32_t full_space = 1u << length_max;
    static constexpr int first_guess = 6;

    static constexpr std::size_t index(int length) noexcept {
        return static_cast<std::size_t>(length);
    }

    void set(std::size_t symbol, int length) noexcept {
        lengths_[symbol] = static_cast<std::uint8_t>(length);
        size_ = (std::max)(size_, symbol + 1);
    }

    census symbols_of_length() const noexcept {
        census symbols{};
        for (std::size_t symbol = 0; symbol < size_; ++symbol) ++symbols[lengths_[symbol]];
        symbols[0] = 0;
        return symbols;
    }

    // Returns the first code of each length, highest bit first.
    static census first_codes(const census& symbols) noexcept {
        census first{};
        for (int length = 1; length < length_max; ++length)
            first[index(length) + 1] = (first[index(length)] + symbols[index(length)]) << 1;
        return first;
    }

    static std::size_t mirrored(std::uint64_t bits, int length) noexcept {
        bits = (bits & 0x5555) << 1 | (bits >> 1 & 0x5555);
        bits = (bits & 0x3333) << 2 | (bits >> 2 & 0x3333);
        bits = (bits & 0x0F0F) << 4 | (bits >> 4 & 0x0F0F);
        bits = (bits & 0x00FF) << 8 | bits >> 8;
        return bits >> (16 - length);
    }

    // Builds Huffman's tree over counts in rising order. Leaves and inner nodes each arrive in
    // rising order of weight, so the lightest is at the front of one of two queues. A depth above
    // the limit counts as the limit.
    static census census_of_tree(const sorted_counts& sorted) noexcept {
        std::array<std::uint64_t, symbols_max + 1> weight;
        std::array<std::uint16_t, 2 * symbols_max> parent;
        std::array<std::uint16_t, symbols_max> depth;
        const std::size_t leaves = sorted.size(), inner = leaves - 1;
        std::size_t leaf = 0, front = 0;
        for (std::size_t node = 0; node < inner; ++node) {
            weight[node] = ~std::uint64_t{0};  // not built yet: more than any other
            std::uint64_t sum = 0;
            for (int child = 0; child < 2; ++child) {
                // The choice is unpredictable, so it is made without a branch.
                const std::uint64_t of_leaf = sorted.count(leaf), of_inner = weight[front];
                const std::size_t takes_leaf = of_leaf <= of_inner ? 1 : 0;
                sum += (std::min)(of_leaf, of_inner);
                parent[takes_leaf * leaf + (1 - takes_leaf) * (leaves + front)] =
                    static_cast<std::uint16_t>(node);
                leaf += takes_leaf;
                front += 1 - takes_leaf;
            }
            weight[node] = sum;
        }
        depth[inner - 1] = 0;
        for (std::size_t node = inner - 1; node-- > 0;)
            depth[node] = static_cast<std::uint16_t>(depth[parent[leaves + node]] + 1);
        census symbols{};
        for (std::size_t i = 0; i < leaves; ++i)
            ++symbols[index((std::min)(length_max, depth[parent[i]] + 1))];
        return symbols;
    }

    // Codes cut to the limit take too much space. Each step takes one symbol from the deepest level
    // above the limit and one from the limit, and puts both one level below the first. The space
    // shrinks by one unit.
    static census limited(census symbols) noexcept {
        std::uint64_t space = 0;
        for (int length = 1; length <= length_max; ++length)
            space += symbols[index(length)] << (length_max - length);
        for (; space > full_space; --space) {
            int length = length_max - 1;
            while (symbols[index(length)] == 0) --length;
            --symbols[index(length)];
            --symbols[index(length_max)];
            symbols[index(length + 1)] += 2;
        }
        return symbols;
    }

    std::array<std::uint8_t, symbols_max> lengths_{};
    std::size_t size_ = 0;
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
