#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/transports/detail/messaging/ordered_list.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Entries by their tag; those of equal tags in the order of adding. Equal tags are in one list,
/// which other tags may share.
///   cost    finding an entry steps over those of other tags in its list. There are few of these
///           once `reserve` made room for all entries
template <class Entry>
class tag_lists {
public:
    tag_lists() : lists_(least) {}

    /// List of a tag.
    ordered_list<Entry>& of(const tag& label) noexcept { return lists_[place_of(label)]; }
    const ordered_list<Entry>& of(const tag& label) const noexcept {
        return lists_[place_of(label)];
    }

    /// Makes room for this many entries, 8 to a list if all tags differ. Existing entries stay.
    void reserve(std::size_t entries) {
        const std::size_t wanted = std::bit_ceil(entries / 8 + 1);
        if (wanted <= lists_.size()) return;
        std::vector<ordered_list<Entry>> before(wanted);
        before.swap(lists_);
        shift_ = 64 - std::countr_zero(wanted);
        for (ordered_list<Entry>& each : before)
            while (Entry* const e = each.first()) {
                each.unlink(*e);
                of(e->label).push_back(*e);
            }
    }

private:
    static constexpr std::size_t least = 64;

    std::size_t place_of(const tag& label) const noexcept {
        const std::uint64_t mixed =
            (label.round * 31 + label.item * std::uint64_t{7} + label.channel) *
            0x9E3779B97F4A7C15u;
        return static_cast<std::size_t>(mixed >> shift_);
    }

    std::vector<ordered_list<Entry>> lists_;  // a power of two
    int shift_ = 64 - 6;
};

}  // namespace sotto::detail
