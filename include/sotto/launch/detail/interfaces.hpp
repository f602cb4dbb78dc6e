#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sotto::detail::launch {

/// A network interface that is up, and one of its addresses.
struct network_interface {
    std::string name;     // as the system calls it, such as "eth0"
    std::string address;  // IPv4 or IPv6, as text
};

/// An address as its bytes: 4 or 16. Its zone, as in fe80::1%eth0, is no part of them.
std::optional<std::vector<std::uint8_t>> address_bytes(std::string text);

bool is_within(const std::string& address, const std::vector<std::uint8_t>& network,
               std::size_t bits);

/// The address that a choice means: the name of an interface ("eth1"), a network ("10.1.0.0/16"),
/// an address, or what names begin with ("eth"); in this order.
///   errors  invalid_option, which lists what there is
std::string address_of_interface(const std::string& wanted,
                                 const std::vector<network_interface>& all);

/// All that are up, IPv4 before IPv6.
///   errors  io_failure: the system does not tell
std::vector<network_interface> interfaces_of_this_machine();

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/interfaces.ipp"
#endif
