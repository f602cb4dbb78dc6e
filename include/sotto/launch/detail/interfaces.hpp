#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sotto::detail::launch {

/// A network interface that is up, and one of its addresses.
struct network_interface {
    std::string name;     // name in the system, such as "eth0"
    std::string address;  // IPv4 or IPv6, as text
};

/// Bytes of an address: 4 or 16, without its zone, as in fe80::1%eth0. Nothing if it is no address.
std::optional<std::vector<std::uint8_t>> address_bytes(std::string text);

bool is_within(const std::string& address, const std::vector<std::uint8_t>& network,
               std::size_t bits);

/// Address that a choice selects: the name of an interface ("eth1"), an address, a network
/// ("10.1.0.0/16"), or a prefix of names ("eth"); in this order.
///   errors  invalid_option, which lists the interfaces
std::string address_of_interface(const std::string& wanted,
                                 const std::vector<network_interface>& all);

/// All interfaces that are up, IPv4 before IPv6.
///   errors  io_failure: the system refuses to list them
std::vector<network_interface> interfaces_of_this_machine();

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/interfaces.ipp"
#endif
