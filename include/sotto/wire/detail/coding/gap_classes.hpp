#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/coding_loop.hpp"
#include "sotto/wire/detail/coding/gap_reading.hpp"
#include "sotto/wire/detail/coding/gap_statistics.hpp"
#include "sotto/wire/detail/coding/gaps.hpp"
#include "sotto/wire/detail/coding/prefix_code.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

static_assert(gap_statistics::classes_max == prefix_code::symbols_max);

/// Counts how often each class occurs among the gaps of a list of indices.
class gap_counts {
public:
    static constexpr gap_classes finest{3};  // the narrowest classes, which are counted first

    /// Counts the gaps of rising indices.
    template <std::unsigned_integral Index>
    explicit gap_counts(std::span<const Index> indices) noexcept
        : gap_counts(gap_statistics(indices, finest)) {}

    /// Takes the counts of indices that were already analysed.
    explicit gap_counts(const gap_statistics& survey) noexcept
        : classes_(survey.classes()), end_(survey.classes_end()), counts_(survey.counts()) {}

    /// Makes the classes coarser: each is a union of finer ones.
    ///   math    class c >= 2^fine becomes floor(c / 2^s) + s 2^coarser.fine for s = fine -
    ///           coarser.fine; each other class is a single number, which moves to its coarser
    ///           class
    void coarsen(gap_classes coarser) noexcept {
        if (coarser.fine >= classes_.fine) return;
        const int less = classes_.fine - coarser.fine;
        const std::size_t group = std::size_t{1} << less;
        const std::size_t first_wide = std::size_t{1} << classes_.fine;
        std::array<std::uint64_t, prefix_code::symbols_max> merged{};
        for (std::size_t i = 0; i < (std::min)(first_wide, end_); ++i)
            merged[static_cast<std::size_t>(coarser.of(i))] += counts_[i];
        std::size_t to = (first_wide >> less) + (static_cast<std::size_t>(less) << coarser.fine);
        for (std::size_t i = first_wide; i < end_; i += group, ++to)
            for (std::size_t j = i; j < i + group; ++j) merged[to] += counts_[j];
        counts_ = merged;
        end_ = (std::min)(end_, to);
        classes_ = coarser;
    }

    /// Returns the classes that were counted.
    gap_classes classes() const noexcept { return classes_; }
    /// Returns the number of gaps of each class.
    std::span<const std::uint64_t> values() const noexcept { return counts_; }

    /// Returns the counts without unused classes at the end.
    std::span<const std::uint64_t> used() const noexcept {
        return values().first((std::max)(end_, std::size_t{2}));
    }

private:
    gap_classes classes_ = finest;
    std::size_t end_ = 0;
    std::array<std::uint64_t, prefix_code::symbols_max> counts_{};
};

/// Codes each gap as a prefix code of its class and raw bits within the class.
///   wire    2 bits fine, the code's lengths, then per gap its class and width(class) raw bits
///   cost    write about 1.2 ns a gap; read about 2.6 ns a gap, and 0.6 us for the lengths and the
///           table; 9 KB of stack
struct class_code {
    gap_classes classes;    // classes of the gaps
    prefix_code code;       // of the classes
    std::int64_t bits = 0;  // exact number of all bits

    /// Returns the best code for these counts, and its bits.
    static class_code of(const gap_counts& counts) noexcept {
        class_code made{counts.classes(), prefix_code::of(counts.used())};
        bit_counter header;
        made.code.write(header);
        made.bits = 2 + header.bits;
        for (std::size_t i = 0; i < made.code.size(); ++i)
            made.bits += static_cast<std::int64_t>(counts.values()[i]) *
                         (made.code.length(i) + made.classes.width(static_cast<int>(i)));
        return made;
    }

    /// Appends the code, then rising indices.
    template <std::unsigned_integral Index>
    void write(std::span<const Index> indices, bit_writer& out) const {
        out.take_room(bits);
        out.put(static_cast<std::uint64_t>(classes.fine), 2);
        code.write(out);
        run_coding_loop<writing>(indices, this, &out);
    }

    /// An entry: code and raw bits together (6 bits), code bits (4), the gap's leading bits (4).
    using decoding_table = std::array<std::uint16_t, 1 << prefix_code::length_max>;

    /// Reads a gap, see gap_reading.
    struct gaps {
        const std::uint16_t* table;  // class and length for the next bits
        std::uint64_t mask;          // of the bits that index the table

        /// See gap_reading.
        SOTTO_INLINE std::uint64_t fast(std::uint64_t& held, int& ready) const noexcept {
            const unsigned entry = table[held & mask], both = entry & 63, length = entry >> 6 & 15;
            const std::uint64_t raw = (held & ((std::uint64_t{1} << both) - 1)) >> length;
            held >>= both;
            ready -= static_cast<int>(both);
            return (std::uint64_t{entry >> 10} << (both - length)) + raw;
        }

        /// See gap_reading.
        gap_refusal slow(bit_reader& in, std::uint64_t, std::uint64_t& gap) const noexcept {
            in.refill();
            std::uint64_t held = in.peek();
            int ready = in.ready();
            gap = fast(held, ready);
            in.skip_to(held, ready);
            return {};
        }
    };

    /// Fills the table, which must outlive the result.
    static result<gaps> read_head(std::int64_t n, bit_reader& in, decoding_table& table) noexcept {
        const gap_classes classes{static_cast<int>(in.take(2))};
        const auto code = prefix_code::read(in);
        if (!code) return code.why();
        if (static_cast<int>(code->size()) > classes.of(static_cast<std::uint64_t>(n - 1)) + 1)
            return in.because("gap classes below the tensor's size", code->size());

        const int longest = code->fill_table(table, [&](std::size_t symbol, int length) {
            const int number = static_cast<int>(symbol);
            const int both = length + classes.width(number);
            return static_cast<std::uint16_t>(both | length << 6 | classes.leading(number) << 10);
        });
        return gaps{table.data(), (std::uint64_t{1} << longest) - 1};
    }

    /// Reads indices.size() indices below n.
    ///   errors  refuses an index or a class of n or more, and everything that prefix_code::read
    ///           refuses
    template <std::unsigned_integral Index>
    static result<std::span<Index>> read(std::int64_t n, bit_reader& in,
                                         std::span<Index> indices) noexcept {
        decoding_table table;
        const auto code = read_head(n, in, table);
        if (!code) return code.why();
        gap_list<gaps, Index> list{*code, indices, static_cast<std::uint64_t>(n), in};
        const auto why = run_coding_loop<gap_reading<gaps>>(&list);
        in = list.in;
        if (why.expected != nullptr) return in.because(why.expected, why.found);
        return indices;
    }

private:
    struct writing {
        template <std::unsigned_integral Index>
        SOTTO_INLINE static void run(const std::span<const Index>& indices,
                                     const class_code* const& from,
                                     bit_writer* const& to) noexcept {
            struct entry {
                std::uint64_t offset;
                int length, both;  // bits of the code; bits of code and raw bits together
            };
            std::array<entry, prefix_code::symbols_max> table;
            const gap_classes classes = from->classes;
            from->code.for_each([&](std::size_t symbol, std::uint32_t bits_of, int length) {
                const int number = static_cast<int>(symbol);
                table[symbol] = {bits_of - (classes.lowest(number) << length), length,
                                 length + classes.width(number)};
            });
            // Raw bits above the code: (gap - lowest) 2^length + code. The value wraps around to
            // the right one.
            const auto field = [](std::uint64_t gap, const entry& e) {
                return (gap << e.length) + e.offset;
            };
            alignas(64) std::array<Index, gap_chunk> gaps;
            alignas(64) std::array<std::uint32_t, gap_chunk> numbers;
            bit_writer out = *to;
            for (std::size_t start = 0; start < indices.size(); start += gap_chunk) {
                const std::size_t count = (std::min)(gap_chunk, indices.size() - start);
                gaps_of(indices.data(), start, count, gaps.data());
                classes_of(classes, gaps.data(), count, numbers.data());
                std::size_t i = 0;
                // Writes two gaps with one put if they fit.
                for (; i + 2 <= count; i += 2) {
                    const entry &a = table[numbers[i]], &b = table[numbers[i + 1]];
                    const std::uint64_t first = field(gaps[i], a), second = field(gaps[i + 1], b);
                    if (a.both + b.both <= 56) [[likely]] {
                        out.put(first | second << a.both, a.both + b.both);
                    } else {
                        out.put(first, a.both);
                        out.put(second, b.both);
                    }
                }
                if (i < count) {
                    const entry& last = table[numbers[i]];
                    out.put(field(gaps[i], last), last.both);
                }
            }
            *to = out;
        }
    };
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
