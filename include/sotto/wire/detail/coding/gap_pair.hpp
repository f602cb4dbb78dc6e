#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/gap_reading.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Reads the gaps of two lists at once. In one list, each gap waits 7 cycles for the length of the
/// gap before, time for the work of three gaps. With two lists, the processor works on one while
/// the other waits. After one list ends, the caller reads the rest of the other alone.
///   cost    1.2 ns a gap, and 2.2 for one list alone
///   returns false if either list is refused; the indices are then unspecified. To get the reason,
///   read each list alone
template <class Code>
struct gap_pair_reading {
    template <std::unsigned_integral Index>
    SOTTO_INLINE static bool run(gap_list<Code, Index>* const& first,
                                 gap_list<Code, Index>* const& second) noexcept {
        return first->has_short_gaps() && second->has_short_gaps() ? read<4>(*first, *second)
                                                                   : read<2>(*first, *second);
    }

private:
    // Checks the sums of this many gaps at once. Each gap is below 2^47, so a sum does not wrap
    // around.
    static constexpr std::size_t rounds_max = 4096;

    template <std::size_t Together, std::unsigned_integral Index>
    SOTTO_INLINE static bool read(gap_list<Code, Index>& first,
                                  gap_list<Code, Index>& second) noexcept {
        const Code code_a = first.code, code_b = second.code;
        bit_reader in_a = first.in, in_b = second.in;
        std::uint64_t next_a = 0, next_b = 0;
        std::size_t done = 0;
        const std::size_t both = (std::min)(first.indices.size(), second.indices.size());
        while (true) {
            const std::size_t rounds = (std::min)(
                {(both - done) / Together, in_a.sure_refills(), in_b.sure_refills(), rounds_max});
            if (rounds == 0) break;
            Index *to_a = first.indices.data() + done, *to_b = second.indices.data() + done;
            Index* const begin = to_a;
            Index* const end = to_a + rounds * Together;
            while (to_a != end) {
                in_a.refill_from_word();
                in_b.refill_from_word();
                std::uint64_t held_a = in_a.peek(), held_b = in_b.peek();
                std::uint64_t last_a = next_a, last_b = next_b;
                int ready_a = in_a.ready(), ready_b = in_b.ready();
                const auto read_to = [&](std::size_t at) {
                    last_a += code_a.fast(held_a, ready_a);
                    last_b += code_b.fast(held_b, ready_b);
                    to_a[at] = static_cast<Index>(last_a++);
                    to_b[at] = static_cast<Index>(last_b++);
                };
                read_to(0);
                read_to(1);
                if constexpr (Together == 4) {
                    read_to(2);
                    read_to(3);
                }
                if ((ready_a | ready_b) < 0) [[unlikely]]
                    break;
                in_a.skip_to(held_a, ready_a);
                in_b.skip_to(held_b, ready_b);
                next_a = last_a;
                next_b = last_b;
                to_a += Together;
                to_b += Together;
            }
            done += static_cast<std::size_t>(to_a - begin);
            if (next_a > first.limit || next_b > second.limit) return false;
            if (to_a == end) continue;
            // Long gaps: a word did not hold all of them.
            if (!read_long(first, done, Together, next_a, in_a) ||
                !read_long(second, done, Together, next_b, in_b))
                return false;
            done += Together;
        }
        first = {code_a, first.indices.subspan(done), first.limit, in_a, next_a};
        second = {code_b, second.indices.subspan(done), second.limit, in_b, next_b};
        return true;
    }

    template <std::unsigned_integral Index>
    SOTTO_INLINE static bool read_long(const gap_list<Code, Index>& list, std::size_t from,
                                       std::size_t count, std::uint64_t& next,
                                       bit_reader& in) noexcept {
        // Copies stay in registers: variables whose addresses leave the function are kept in
        // memory.
        bit_reader copy = in;
        std::uint64_t copied_next = next;
        const gap_refusal why = gap_reading<Code>::read_singly(
            list.code, list.indices.subspan(from, count), list.limit, copied_next, copy);
        in = copy;
        next = copied_next;
        return why.expected == nullptr;
    }
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
