#pragma once

#include <optional>
#include <string>

#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_resolver.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::net {

/// An IPv4 address that is written as one of IPv6 is one of IPv4.
asio::ip::address unmapped(const asio::ip::address& address);

/// The address that a text is, perhaps in brackets; nothing if it is a name.
///   errors  invalid_option: a link-local address without its interface, or with an unknown one
std::optional<asio::ip::address> literal_address(const std::string& text);

/// "30 s; tcp_options::join sets the limit"
std::string limit_of_join(const tcp_options& options);

/// The first address of a host, once there is one: a name may be known a moment later than its
/// rank begins.
///   errors  error (timed_out); invalid_option: see literal_address
asio::ip::address find_address(const tcp_options& options, const std::string& name, deadline& limit,
                               const resolver& ask = ask_system);

/// Whether a name is an address, or one that is loopback's on every machine.
bool is_no_host_name(const std::string& name);

/// Where rank 0 listens, and others look for it. A host that knows its own name by loopback, as
/// Debian's do by 127.0.1.1, would wait where no other host comes to, and its other ranks would be
/// found there: they meet at the address that `bind` chose for them.
///   errors  invalid_option: none was chosen; error (timed_out)
asio::ip::address find_leader(const tcp_options& options, deadline& limit,
                              const resolver& ask = ask_system);

/// Whether a rank may use an address: strangers cannot reach it, or something keeps them out.
bool is_private(const tcp_options& options, const asio::ip::address& place);

/// Throws invalid_option for an address that is not private. `option`: what it was given as.
void require_private(const tcp_options& options, const asio::ip::address& place,
                     const std::string& option);

wire::listening_place to_wire(const asio::ip::tcp::endpoint& at);

asio::ip::tcp::endpoint from_wire(const wire::listening_place& place);

/// A place as a rank reaches it that has the address `own` on the way there. A link-local address
/// is of one link, which each machine numbers for itself.
asio::ip::tcp::endpoint on_link_of(const asio::ip::tcp::endpoint& place,
                                   const asio::ip::address& own);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_address.ipp"
#endif
