#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/coding_loop.hpp"
#include "sotto/wire/detail/coding/gap_classes.hpp"
#include "sotto/wire/detail/coding/gap_pair.hpp"
#include "sotto/wire/detail/coding/gap_reading.hpp"
#include "sotto/wire/detail/coding/index_plan.hpp"
#include "sotto/wire/detail/coding/rice_code.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Arguments of decode_indices.
template <std::unsigned_integral Index>
struct coded_list {
    std::int64_t n;
    byte_view in;
    std::span<Index> indices;

    /// True if the list has a mode, and at most as many entries as bits.
    bool has_gaps() const noexcept {
        return index_fits<Index>(n) && indices.size() < static_cast<std::size_t>(n) &&
               !indices.empty() && indices.size() / 8 < in.size();
    }
};

template <class Gaps, std::unsigned_integral Index>
bool read_gap_pair(const result<Gaps>& first_code, const coded_list<Index>& first,
                   const bit_reader& first_in, const result<Gaps>& second_code,
                   const coded_list<Index>& second, const bit_reader& second_in) noexcept {
    if (!first_code || !second_code) return false;
    using list = gap_list<Gaps, Index>;
    list a{*first_code, first.indices, static_cast<std::uint64_t>(first.n), first_in};
    list b{*second_code, second.indices, static_cast<std::uint64_t>(second.n), second_in};
    if (!run_coding_loop<gap_pair_reading<Gaps>>(&a, &b)) return false;
    const auto ends = [](list& rest) {
        return run_coding_loop<gap_reading<Gaps>>(&rest).expected == nullptr && rest.in.finished();
    };
    return ends(a) && ends(b);
}

/// Decodes two lists at once like decode_indices, if both use the same mode, with gaps. Returns
/// false if they do not, or if one is refused. The indices are then unspecified: decode each list
/// alone to get the reason.
template <std::unsigned_integral Index>
bool decode_index_pair(const coded_list<Index>& first, const coded_list<Index>& second) noexcept {
    if (!first.has_gaps() || !second.has_gaps()) return false;
    bit_reader a(first.in), b(second.in);
    const auto mode = static_cast<index_mode>(a.take(mode_bits));
    if (mode != static_cast<index_mode>(b.take(mode_bits))) return false;
    if (a.bits_left() < static_cast<std::int64_t>(first.indices.size()) ||
        b.bits_left() < static_cast<std::int64_t>(second.indices.size()))
        return false;
    if (mode == index_mode::rice) {
        const auto first_code = rice_code::read_head(a), second_code = rice_code::read_head(b);
        return read_gap_pair(first_code, first, a, second_code, second, b);
    }
    if (mode == index_mode::classes) {
        class_code::decoding_table first_table, second_table;
        const auto first_code = class_code::read_head(first.n, a, first_table);
        if (!first_code) return false;
        const auto second_code = class_code::read_head(second.n, b, second_table);
        return read_gap_pair(first_code, first, a, second_code, second, b);
    }
    return false;
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
