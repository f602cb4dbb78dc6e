#pragma once

#include "sotto/transports/detail/tcp/tcp_address.hpp"

#include <chrono>
#include <cstddef>
#include <cstring>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/detail/text/host_port.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

SOTTO_DECL asio::ip::address unmapped(const asio::ip::address& address) {
    if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

SOTTO_DECL std::optional<asio::ip::address> literal_address(const std::string& text) {
    const std::string host = without_brackets(text);
    boost::system::error_code no_literal;
    const auto address = asio::ip::make_address(host, no_literal);
    if (no_literal) return std::nullopt;
    if (address.is_v6() && address.to_v6().is_link_local() && address.to_v6().scope_id() == 0) {
        const std::size_t zone = host.find('%');
        throw invalid_option("tcp: the address '" + printable(text) + "' is link-local and " +
                             (zone == std::string::npos
                                  ? "has no interface; expected one behind it, as in fe80::1%"
                                    "eth0"
                                  : "this machine has no interface '" +
                                        printable(host.substr(zone + 1)) +
                                        "'; expected one that `ip address` lists"));
    }
    return unmapped(address);
}

SOTTO_DECL std::string limit_of_join(const tcp_options& options) {
    std::string text;
    append_number(text, in_seconds(options.join));
    return text + " s; tcp_options::join sets the limit";
}

SOTTO_DECL asio::ip::address find_address(const tcp_options& options, const std::string& name,
                                          deadline& limit, const resolver& ask) {
    if (const auto literal = literal_address(name)) return *literal;
    constexpr auto pause = std::chrono::milliseconds(200);
    while (true) {
        const resolved found = look_up(ask, name, limit);
        if (!found.addresses.empty()) return unmapped(found.addresses.front());
        if (limit.passed(std::chrono::steady_clock::now()))
            throw error(errc::timed_out, "tcp: rank " + std::to_string(options.rank) +
                                             " found no address for '" + printable(name) +
                                             "' within " + limit_of_join(options) + " (" +
                                             found.why_not + ")");
        wait_for_any({}, pause);
    }
}

SOTTO_DECL bool is_no_host_name(const std::string& name) {
    return literal_address(name) || name.starts_with("localhost") || name.ends_with(".localhost") ||
           name == "ip6-localhost" || name == "ip6-loopback";
}

SOTTO_DECL asio::ip::address find_leader(const tcp_options& options, deadline& limit,
                                         const resolver& ask) {
    std::optional<asio::ip::address> chosen;
    if (!options.bind.empty()) chosen = find_address(options, options.bind, limit, ask);
    if (chosen && options.rank == 0) return *chosen;
    const auto found = find_address(options, options.address, limit, ask);
    if (!found.is_loopback() || options.size == 1 || is_no_host_name(options.address)) return found;
    if (chosen && !chosen->is_unspecified()) return *chosen;
    throw invalid_option(
        "tcp: rank " + std::to_string(options.rank) + " finds rank 0, '" +
        printable(options.address) + "', at " + found.to_string() +
        ", which no other machine reaches: choose an interface of this one by SOTTO_INTERFACE or "
        "tcp_options::bind; if all ranks are on this machine, set SOTTO_ADDRESS or "
        "tcp_options::address to 127.0.0.1");
}

SOTTO_DECL bool is_private(const tcp_options& options, const asio::ip::address& place) {
    return unmapped(place).is_loopback() || options.security || options.insecure_network;
}

SOTTO_DECL void require_private(const tcp_options& options, const asio::ip::address& place,
                                const std::string& option) {
    if (is_private(options, place)) return;
    throw invalid_option(
        "tcp: " + option + " is " + place.to_string() +
        ", which other machines can reach, and whoever can could join: give tcp_options::security "
        "a secret, as pre_shared_key of sotto/transports/tcp_tls.hpp makes it, or set "
        "insecure_network where the network is yours alone");
}

SOTTO_DECL wire::listening_place to_wire(const asio::ip::tcp::endpoint& at) {
    const auto address = at.address();
    const auto raw =
        (address.is_v6() ? address.to_v6()
                         : asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()))
            .to_bytes();
    wire::listening_place place;
    std::memcpy(place.address.data(), raw.data(), raw.size());
    place.port = at.port();
    return place;
}

SOTTO_DECL asio::ip::tcp::endpoint from_wire(const wire::listening_place& place) {
    asio::ip::address_v6::bytes_type raw;
    std::memcpy(raw.data(), place.address.data(), raw.size());
    const asio::ip::address_v6 v6(raw);
    if (v6.is_v4_mapped()) return {asio::ip::make_address_v4(asio::ip::v4_mapped, v6), place.port};
    return {v6, place.port};
}

SOTTO_DECL asio::ip::tcp::endpoint on_link_of(const asio::ip::tcp::endpoint& place,
                                              const asio::ip::address& own) {
    if (!place.address().is_v6() || !place.address().to_v6().is_link_local() || !own.is_v6())
        return place;
    asio::ip::address_v6 there = place.address().to_v6();
    there.scope_id(own.to_v6().scope_id());
    return {there, place.port()};
}

}  // namespace sotto::detail::net
