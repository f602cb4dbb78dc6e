#pragma once

#include "sotto/strategies/detail/gossip/peer_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::optional<int> peer_table::first_unknown(
    const wire::gossip_place& round) const noexcept {
    for (int rank = 0; rank < size(); ++rank)
        if (const peer& p = of(rank); p.is_awaited && p.mixes() && p.said < round) return rank;
    return std::nullopt;
}

SOTTO_DECL std::optional<std::uint64_t> peer_table::earliest_step() const noexcept {
    std::optional<std::uint64_t> least;
    for (const peer& p : peers_)
        if (p.is_neighbour && p.mixes() && (!least || p.at.step < *least)) least = p.at.step;
    return least;
}

SOTTO_DECL int peer_table::sums_for_all(std::uint64_t since, bool is_done) const noexcept {
    std::pair best{is_done ? (std::numeric_limits<std::uint64_t>::max)() : since, own_};
    for (int rank = 0; rank < size(); ++rank)
        if (rank != own_ && of(rank).mixes())
            best = (std::min)(best, std::pair(of(rank).since, rank));
    return best.second;
}

SOTTO_DECL std::optional<int> peer_table::best_source() const noexcept {
    std::optional<int> best;
    for_each_here([&](int rank) {
        const peer &p = of(rank), *const b = best ? &of(*best) : nullptr;
        if (!p.has_trained || !p.is_alike) return;
        if (!b || std::pair(p.is_neighbour, p.at) > std::pair(b->is_neighbour, b->at)) best = rank;
    });
    return best;
}

}  // namespace sotto::detail
