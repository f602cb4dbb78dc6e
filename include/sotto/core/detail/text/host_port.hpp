#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto::detail {

/// A host, and the port that stands behind it, if any.
struct host_port {
    std::string host;  // a name or an address, without brackets
    std::optional<std::uint16_t> port{};
};

/// Whether it may be the name of a host or an address: letters, digits, - . _ and what is beyond
/// ASCII; of one with colons, an IPv6 address, perhaps with a zone.
bool may_be_host(const std::string& text);

/// Reads `host`, `host:port`, `::1`, `[::1]` or `[::1]:port`; nothing if a text is none of these.
/// An IPv6 address may have a zone, as `fe80::1%eth0`.
std::optional<host_port> read_host_port(std::string_view text);

/// A host that may be in brackets; as it is if it is no such text.
std::string without_brackets(const std::string& host);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/text/host_port.ipp"
#endif
