#pragma once

#include <cstdint>
#include <string>

#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"

namespace sotto::detail::net {

/// Descriptors of Asio's epoll, event and timer.
inline constexpr std::int64_t descriptors_of_context = 3;

/// Maximum number of descriptors that a rank has open at once: the context's, and two connections
/// to each other rank. While ranks gather, it also has a port, a spare descriptor and one to look
/// up users. While the job runs, it also has two events. In an elastic job ranks always gather, and
/// rank 0 has one more connection to each other rank.
std::int64_t descriptors_needed(const tcp_options& options) noexcept;

/// Error text for a rank that cannot open the descriptors that it needs; empty if it can. `opened`:
/// number of them that are open already.
std::string descriptor_shortage(const tcp_options& options, std::int64_t opened);

/// Opens the context of a rank's sockets.
///   errors  io_failure: the system refuses
tcp_context open_context(const tcp_options& options);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_context.ipp"
#endif
