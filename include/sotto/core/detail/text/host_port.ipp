#pragma once

#include "sotto/core/detail/text/host_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL bool may_be_host(const std::string& text) {
    if (text.find(':') != text.npos) {
        in6_addr ignored{};
        return ::inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &ignored) == 1;
    }
    return !text.empty() && std::ranges::all_of(text, [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
               (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '.' || byte == '_';
    });
}

SOTTO_DECL std::optional<host_port> read_host_port(std::string_view text) {
    host_port read;
    const bool in_brackets = text.starts_with('[');
    const auto colons = std::count(text.begin(), text.end(), ':');
    std::size_t end = text.size();
    if (in_brackets)
        end = text.find(']');
    else if (colons == 1)
        end = text.find(':');
    if (end == std::string_view::npos) return std::nullopt;
    read.host = text.substr(in_brackets ? 1 : 0, in_brackets ? end - 1 : end);
    // Brackets separate the colons of an address from the colon before the port.
    if (in_brackets && read.host.find(':') == std::string::npos) return std::nullopt;
    if (!may_be_host(read.host)) return std::nullopt;
    text.remove_prefix(in_brackets ? end + 1 : end);
    if (text.empty()) return read;
    std::uint16_t port = 0;
    const char* const last = text.data() + text.size();
    const auto [rest, why] = std::from_chars(text.data() + 1, last, port);
    if (text[0] != ':' || why != std::errc() || rest != last || port == 0) return std::nullopt;
    read.port = port;
    return read;
}

SOTTO_DECL std::string without_brackets(const std::string& host) {
    const auto read = read_host_port(host);
    return read && !read->port ? read->host : host;
}

}  // namespace sotto::detail
