#pragma once

#include "sotto/core/detail/memory/name_index.hpp"

#include <algorithm>
#include <functional>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void name_index::reserve_one() {
    if (2 * (count_ + 1) <= slots_.size()) return;
    std::vector<slot> larger((std::max)(std::size_t{8}, 2 * slots_.size()));
    for (const slot& each : slots_)
        if (each.entry != 0) free_slot(larger, each.hash) = each;
    slots_.swap(larger);
}

SOTTO_DECL void name_index::add(std::string_view name) noexcept {
    const auto hash = hash_of(name);
    free_slot(slots_, hash) = {hash, static_cast<std::uint32_t>(++count_)};
}

SOTTO_DECL std::uint32_t name_index::hash_of(std::string_view name) noexcept {
    const std::uint64_t hash = std::hash<std::string_view>{}(name);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

SOTTO_DECL name_index::slot& name_index::free_slot(std::vector<slot>& among,
                                                   std::uint32_t hash) noexcept {
    std::size_t at = hash & (among.size() - 1);
    while (among[at].entry != 0) at = (at + 1) & (among.size() - 1);
    return among[at];
}

}  // namespace sotto::detail
