#pragma once

#include <cstdint>
#include <string>

#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"

namespace sotto::detail::net {

/// Asio's epoll, event and timer.
inline constexpr std::int64_t descriptors_of_context = 3;

/// Descriptors that a rank opens, at most at once: the context's, two connections to each other
/// rank; besides a port, a spare one and one to look up users while ranks gather, and two events
/// while the job runs. In an elastic job ranks always gather, and rank 0 meets each other rank by
/// one connection more.
std::int64_t descriptors_needed(const tcp_options& options) noexcept;

/// An error for a rank that cannot open the descriptors that it needs; empty if it can. `opened`:
/// how many of them it has opened.
std::string descriptor_shortage(const tcp_options& options, std::int64_t opened);

/// Opens the context of a rank's sockets.
///   errors  io_failure: the system refuses
tcp_context open_context(const tcp_options& options);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_context.ipp"
#endif
