#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

/// What digests of frames are of.
inline constexpr std::uint64_t control_seed = 1, data_seed = 2;

/// Of the digests of what one process says to another.
inline std::uint64_t link_seed(int from, std::uint64_t from_incarnation, int to,
                               std::uint64_t to_incarnation, std::uint64_t purpose) noexcept {
    const std::uint64_t words[] = {from_incarnation, to_incarnation,
                                   static_cast<std::uint64_t>(from),
                                   static_cast<std::uint64_t>(to)};
    return wire::frame_digest(std::as_bytes(std::span(words)), purpose);
}

/// Connections between one rank and all others, and what tells this start of each from another.
struct tcp_connections {
    std::vector<std::unique_ptr<tcp_socket>> control, data;  // by rank; none to itself
    std::vector<std::uint64_t> incarnations;

    /// Ranks of which nothing was heard.
    std::vector<int> absent() const {
        std::vector<int> ranks;
        for (std::size_t rank = 0; rank < incarnations.size(); ++rank)
            if (incarnations[rank] == 0) ranks.push_back(static_cast<int>(rank));
        return ranks;
    }

    /// A rank to which a connection of rank `own` is missing, but for those to or from rank 0 that
    /// wait for its word; none if all are there.
    std::optional<int> lacking(int own) const noexcept {
        for (int rank = 0; rank < static_cast<int>(data.size()); ++rank) {
            if (rank == own) continue;
            if (!data[static_cast<std::size_t>(rank)]) return rank;
            if (rank != 0 && own != 0 && !control[static_cast<std::size_t>(rank)]) return rank;
        }
        return std::nullopt;
    }

    /// Of the digests from one rank to another.
    std::uint64_t seed(int from, int to, std::uint64_t purpose) const noexcept {
        return link_seed(from, incarnations[static_cast<std::size_t>(from)], to,
                         incarnations[static_cast<std::size_t>(to)], purpose);
    }
};

/// Ranks as `1, 2, 3`; of many the first 8 and how many more there are.
inline std::string listed(std::span<const int> ranks) {
    constexpr std::size_t shown = 8;
    std::string list;
    for (const int rank : ranks.first((std::min)(shown, ranks.size())))
        list += (list.empty() ? "" : ", ") + std::to_string(rank);
    if (ranks.size() > shown) list += " and " + std::to_string(ranks.size() - shown) + " more";
    return list;
}

}  // namespace sotto::detail::net
