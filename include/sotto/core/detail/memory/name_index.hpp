#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace sotto::detail {

/// Finds the number of an entry by its name. Names stay where they are: `name_of(number)` returns
/// one. Entries are numbered in the order in which they are added.
///   cost    some two names are compared for each call, however many there are; 8 to 16 bytes an
///           entry
class name_index {
public:
    /// Room for one entry more, so that `add` cannot fail.
    void reserve_one() {
        if (2 * (count_ + 1) <= slots_.size()) return;
        std::vector<slot> larger((std::max)(std::size_t{8}, 2 * slots_.size()));
        for (const slot& each : slots_)
            if (each.entry != 0) free_slot(larger, each.hash) = each;
        slots_.swap(larger);
    }

    /// The next entry has this name, which no other one has. Requires reserve_one().
    void add(std::string_view name) noexcept {
        const auto hash = hash_of(name);
        free_slot(slots_, hash) = {hash, static_cast<std::uint32_t>(++count_)};
    }

    /// The number of the entry of this name; nothing if there is none.
    template <class NameOf>
    std::optional<std::size_t> find(std::string_view name, NameOf&& name_of) const {
        if (slots_.empty()) return std::nullopt;
        const auto hash = hash_of(name);
        for (std::size_t at = hash & (slots_.size() - 1); slots_[at].entry != 0;
             at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].hash == hash && name_of(slots_[at].entry - 1) == name)
                return slots_[at].entry - 1;
        return std::nullopt;
    }

private:
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t entry = 0;  // its number and one; 0: there is none
    };

    static std::uint32_t hash_of(std::string_view name) noexcept {
        const std::uint64_t hash = std::hash<std::string_view>{}(name);
        return static_cast<std::uint32_t>(hash ^ hash >> 32);
    }

    static slot& free_slot(std::vector<slot>& among, std::uint32_t hash) noexcept {
        std::size_t at = hash & (among.size() - 1);
        while (among[at].entry != 0) at = (at + 1) & (among.size() - 1);
        return among[at];
    }

    std::vector<slot> slots_;  // as many as a power of two, at most half of them taken
    std::size_t count_ = 0;
};

}  // namespace sotto::detail
