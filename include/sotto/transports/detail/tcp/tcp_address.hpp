#pragma once

#include <optional>
#include <string>

#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_resolver.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::net {

/// The address; as IPv4 if it is an IPv4 address in IPv6 form.
asio::ip::address unmapped(const asio::ip::address& address);

/// Address that a text contains, with or without brackets; nothing if it is a name.
///   errors  invalid_option: a link-local address without its interface, or with an unknown one
std::optional<asio::ip::address> literal_address(const std::string& text);

/// "30 s; tcp_options::join sets the limit"
std::string limit_of_join(const tcp_options& options);

/// First address of a host, once there is one: a name may become known a moment after its rank
/// starts.
///   errors  error (timed_out); invalid_option: see literal_address
asio::ip::address find_address(const tcp_options& options, const std::string& name, deadline& limit,
                               const resolver& ask = ask_system);

/// True if a name is an address, or is loopback on every machine.
bool is_no_host_name(const std::string& name);

/// Address at which rank 0 listens, and others look for it. A host that resolves its own name to
/// loopback, as Debian does with 127.0.1.1, would listen where no other host can connect. Its ranks
/// meet at the address that `bind` selects instead.
///   errors  invalid_option: `bind` is not set; error (timed_out)
asio::ip::address find_leader(const tcp_options& options, deadline& limit,
                              const resolver& ask = ask_system);

/// True if a rank may use an address: strangers cannot reach it, or are kept out.
bool is_private(const tcp_options& options, const asio::ip::address& place);

/// Throws invalid_option for an address that is not private. `option`: the option that set it.
void require_private(const tcp_options& options, const asio::ip::address& place,
                     const std::string& option);

wire::listening_place to_wire(const asio::ip::tcp::endpoint& at);

asio::ip::tcp::endpoint from_wire(const wire::listening_place& place);

/// Place as it is reached by a rank whose address on that way is `own`. A link-local address
/// belongs to one link, which each machine numbers itself.
asio::ip::tcp::endpoint on_link_of(const asio::ip::tcp::endpoint& place,
                                   const asio::ip::address& own);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_address.ipp"
#endif
