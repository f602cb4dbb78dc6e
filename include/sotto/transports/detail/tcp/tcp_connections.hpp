#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// What digests of frames are of.
inline constexpr std::uint64_t control_seed = 1, data_seed = 2;

/// Of the digests of what one process says to another.
std::uint64_t link_seed(int from, std::uint64_t from_incarnation, int to,
                        std::uint64_t to_incarnation, std::uint64_t purpose) noexcept;

/// Connections between one rank and all others, and what tells this start of each from another.
struct tcp_connections {
    std::vector<std::unique_ptr<tcp_socket>> control, data;  // by rank; none to itself
    std::vector<std::uint64_t> incarnations;

    /// Ranks of which nothing was heard.
    std::vector<int> absent() const;

    /// A rank to which a connection of rank `own` is missing, but for those to or from rank 0 that
    /// wait for its word; none if all are there.
    std::optional<int> lacking(int own) const noexcept;

    /// Of the digests from one rank to another.
    std::uint64_t seed(int from, int to, std::uint64_t purpose) const noexcept;
};

/// Ranks as `1, 2, 3`; of many the first 8 and how many more there are.
std::string listed(std::span<const int> ranks);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_connections.ipp"
#endif
