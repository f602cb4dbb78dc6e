#pragma once

#include "sotto/transports/detail/tcp/tcp_connections.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::uint64_t link_seed(int from, std::uint64_t from_incarnation, int to,
                                   std::uint64_t to_incarnation, std::uint64_t purpose) noexcept {
    const std::uint64_t words[] = {from_incarnation, to_incarnation,
                                   static_cast<std::uint64_t>(from),
                                   static_cast<std::uint64_t>(to)};
    return wire::frame_digest(std::as_bytes(std::span(words)), purpose);
}

SOTTO_DECL std::vector<int> tcp_connections::absent() const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < incarnations.size(); ++rank)
        if (incarnations[rank] == 0) ranks.push_back(static_cast<int>(rank));
    return ranks;
}

SOTTO_DECL std::optional<int> tcp_connections::lacking(int own) const noexcept {
    for (int rank = 0; rank < static_cast<int>(data.size()); ++rank) {
        if (rank == own) continue;
        if (!data[static_cast<std::size_t>(rank)]) return rank;
        if (rank != 0 && own != 0 && !control[static_cast<std::size_t>(rank)]) return rank;
    }
    return std::nullopt;
}

SOTTO_DECL std::uint64_t tcp_connections::seed(int from, int to,
                                               std::uint64_t purpose) const noexcept {
    return link_seed(from, incarnations[static_cast<std::size_t>(from)], to,
                     incarnations[static_cast<std::size_t>(to)], purpose);
}

SOTTO_DECL std::string listed(std::span<const int> ranks) {
    constexpr std::size_t shown = 8;
    std::string list;
    for (const int rank : ranks.first((std::min)(shown, ranks.size())))
        list += (list.empty() ? "" : ", ") + std::to_string(rank);
    if (ranks.size() > shown) list += " and " + std::to_string(ranks.size() - shown) + " more";
    return list;
}

}  // namespace sotto::detail::net
