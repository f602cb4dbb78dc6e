#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto::detail {

/// A host and, if given, its port.
struct host_port {
    std::string host;  // a name or an address, without brackets
    std::optional<std::uint16_t> port{};
};

/// True if the text may be a host: letters, digits, - . _ and characters beyond ASCII. A text with
/// colons must be an IPv6 address, with an optional zone.
bool may_be_host(const std::string& text);

/// Reads `host`, `host:port`, `::1`, `[::1]` or `[::1]:port`; returns nothing for other texts. An
/// IPv6 address may have a zone, as in `fe80::1%eth0`.
std::optional<host_port> read_host_port(std::string_view text);

/// Returns a host without its brackets; returns other texts as they are.
std::string without_brackets(const std::string& host);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/text/host_port.ipp"
#endif
