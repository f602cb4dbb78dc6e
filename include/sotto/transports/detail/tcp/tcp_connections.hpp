#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// Seeds of frame digests, by purpose of the connection.
inline constexpr std::uint64_t control_seed = 1, data_seed = 2;

/// Seed of the digests of data from one process to another.
std::uint64_t link_seed(int from, std::uint64_t from_incarnation, int to,
                        std::uint64_t to_incarnation, std::uint64_t purpose) noexcept;

/// Connections of one rank to all others, and incarnations, which distinguish the starts of each
/// rank.
struct tcp_connections {
    std::vector<std::unique_ptr<tcp_socket>> control, data;  // by rank; none to itself
    std::vector<std::uint64_t> incarnations;

    /// Ranks without any contact.
    std::vector<int> absent() const;

    /// A rank to which a connection of rank `own` is missing; none if all are there. Control
    /// connections to or from rank 0 do not count: they wait for its message.
    std::optional<int> lacking(int own) const noexcept;

    /// Seed of the digests from one rank to another.
    std::uint64_t seed(int from, int to, std::uint64_t purpose) const noexcept;
};

/// Ranks as `1, 2, 3`; of many, the first 8 and the number of others.
std::string listed(std::span<const int> ranks);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_connections.ipp"
#endif
