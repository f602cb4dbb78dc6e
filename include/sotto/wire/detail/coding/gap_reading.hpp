#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/coding/bits.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Why a gap was refused: a fault without its place. `expected` is null if no gap was refused.
struct gap_refusal {
    const char* expected = nullptr;
    std::uint64_t found = 0;
};

/// A list whose gaps must still be read: code, target, limit and input.
template <class Code, std::unsigned_integral Index>
struct gap_list {
    Code code;
    std::span<Index> indices;
    std::uint64_t limit;
    bit_reader in;
    std::uint64_t next = 0;  // one more than the last index read

    /// True if a word usually holds four gaps.
    bool has_short_gaps() const noexcept {
        return in.bits_left() <= 13 * static_cast<std::int64_t>(indices.size());
    }
};

/// Reads one gap after another into indices below a limit, for a code with these functions:
///   code.fast(held, ready)     returns the gap at the start of `held` and shifts it out. `ready`
///                              decreases by its bits; if it falls below 0, the result is not used
///   code.slow(in, limit, gap)  reads any gap, with all checks; returns the refusal, if any
/// One word provides several gaps, and each waits only for the length of the one before.
template <class Code>
struct gap_reading {
    // A separate function for ends and long gaps, so that the hot loop keeps its registers.
    template <std::unsigned_integral Index>
    [[gnu::noinline]] static gap_refusal read_singly(const Code& code, std::span<Index> indices,
                                                     std::uint64_t limit, std::uint64_t& next,
                                                     bit_reader& in) noexcept {
        for (Index& index : indices) {
            const bit_reader before = in;
            std::uint64_t gap = 0;
            const gap_refusal why = code.slow(in, limit, gap);
            if (why.expected != nullptr) return why;
            next += gap;
            if (next >= limit) {
                in = before;
                return {"an index below the tensor's size", next};
            }
            index = static_cast<Index>(next++);
        }
        return {};
    }

    template <std::size_t Together, std::unsigned_integral Index>
    SOTTO_INLINE static gap_refusal read(const Code& code, std::span<Index> indices,
                                         std::uint64_t limit, std::uint64_t next,
                                         bit_reader& in) noexcept {
        for (std::size_t i = 0; i < indices.size();) {
            while (Together <= indices.size() - i && in.has_word()) {
                in.refill_from_word();
                std::uint64_t held = in.peek(), last = next;
                int ready = in.ready();
                const auto read_to = [&](std::size_t at) {
                    last += code.fast(held, ready);
                    indices[at] = static_cast<Index>(last++);
                };
                read_to(i);
                read_to(i + 1);
                if constexpr (Together == 4) {
                    read_to(i + 2);
                    read_to(i + 3);
                }
                // No branch depends on a single gap, only on whether the word held all of them.
                if (ready < 0 || last > limit) [[unlikely]]
                    break;
                in.skip_to(held, ready);
                next = last;
                i += Together;
            }
            // Copies stay in registers: variables whose addresses leave the function are kept in
            // memory.
            bit_reader copy = in;
            std::uint64_t copied_next = next;
            const std::size_t count = (std::min)(Together, indices.size() - i);
            const gap_refusal why =
                read_singly(code, indices.subspan(i, count), limit, copied_next, copy);
            in = copy;
            if (why.expected != nullptr) return why;
            next = copied_next;
            i += count;
        }
        return {};
    }

    /// Reads the rest of a list. `in` is then after it, or before the refused gap.
    template <std::unsigned_integral Index>
    SOTTO_INLINE static gap_refusal run(gap_list<Code, Index>* const& list) noexcept {
        const Code own = list->code;
        bit_reader in = list->in;
        const gap_refusal why = list->has_short_gaps()
                                    ? read<4>(own, list->indices, list->limit, list->next, in)
                                    : read<2>(own, list->indices, list->limit, list->next, in);
        list->in = in;
        return why;
    }
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
