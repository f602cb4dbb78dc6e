#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/hello.hpp"

namespace sotto::detail::net {

/// The address that a name or a number stands for, or why there is none. Of several it is the first
/// of IPv4, so that all ranks take the same kind.
inline std::optional<asio::ip::address> resolve(const std::string& name, std::string& why_not) {
    boost::system::error_code why;
    const auto literal = asio::ip::make_address(name, why);
    if (!why) return literal;
    asio::io_context context;  // opens nothing: it is asked for nothing that waits
    asio::ip::tcp::resolver resolver(context);
    const auto found = resolver.resolve(name, "", why);
    if (why || found.begin() == found.end()) {
        why_not = why.message();
        return std::nullopt;
    }
    for (const auto& entry : found)
        if (entry.endpoint().address().is_v4()) return entry.endpoint().address();
    return found.begin()->endpoint().address();
}

/// "30 s; tcp_options::join sets the limit"
inline std::string limit_of_join(const tcp_options& options) {
    std::string text;
    append_number(text, in_seconds(options.join));
    return text + " s; tcp_options::join sets the limit";
}

/// The same once there is one: a name may be known a moment later than its rank begins.
///   errors  error (timed_out)
inline asio::ip::address find_address(const tcp_options& options, const std::string& name,
                                      deadline& limit) {
    constexpr auto pause = std::chrono::milliseconds(200);
    while (true) {
        std::string why;
        if (const auto found = resolve(name, why)) return *found;
        if (limit.passed(std::chrono::steady_clock::now()))
            throw error(errc::timed_out, "tcp: rank " + std::to_string(options.rank) +
                                             " found no address for '" + name + "' within " +
                                             limit_of_join(options) + " (" + why + ")");
        wait_for_any({}, pause);
    }
}

/// Whether a name is an address, or one that is loopback's on every machine.
inline bool is_no_host_name(const std::string& name) {
    boost::system::error_code not_literal;
    asio::ip::make_address(name, not_literal);
    return !not_literal || name.starts_with("localhost") || name.ends_with(".localhost") ||
           name == "ip6-localhost" || name == "ip6-loopback";
}

/// Where rank 0 listens, and others look for it. A host that knows its own name by loopback, as
/// Debian's do by 127.0.1.1, would wait where no other host comes to, and its other ranks would be
/// found there: they meet at the address that `bind` chose for them.
///   errors  invalid_option: none was chosen; error (timed_out)
inline asio::ip::address find_leader(const tcp_options& options, deadline& limit) {
    std::optional<asio::ip::address> chosen;
    if (!options.bind.empty()) chosen = find_address(options, options.bind, limit);
    if (chosen && options.rank == 0) return *chosen;
    const auto found = find_address(options, options.address, limit);
    if (!found.is_loopback() || options.size == 1 || is_no_host_name(options.address)) return found;
    if (chosen && !chosen->is_unspecified()) return *chosen;
    throw invalid_option(
        "tcp: rank " + std::to_string(options.rank) + " finds rank 0, '" + options.address +
        "', at " + found.to_string() +
        ", which no other machine reaches: choose an interface of this one by SOTTO_INTERFACE or "
        "tcp_options::bind; if all ranks are on this machine, set SOTTO_ADDRESS or "
        "tcp_options::address to 127.0.0.1");
}

/// Throws invalid_option for an address that strangers could reach, unless something keeps them
/// out. `option`: what it was given as.
inline void require_private(const tcp_options& options, const asio::ip::address& place,
                            const std::string& option) {
    if (place.is_loopback() || options.security || options.insecure_network) return;
    throw invalid_option(
        "tcp: " + option + " is " + place.to_string() +
        ", which other machines can reach, and whoever can could join: give tcp_options::security "
        "a secret, as pre_shared_key of sotto/transports/tcp_tls.hpp makes it, or set "
        "insecure_network where the network is yours alone");
}

inline wire::listening_place to_wire(const asio::ip::tcp::endpoint& at) {
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

inline asio::ip::tcp::endpoint from_wire(const wire::listening_place& place) {
    asio::ip::address_v6::bytes_type raw;
    std::memcpy(raw.data(), place.address.data(), raw.size());
    const asio::ip::address_v6 v6(raw);
    if (v6.is_v4_mapped()) return {asio::ip::make_address_v4(asio::ip::v4_mapped, v6), place.port};
    return {v6, place.port};
}

}  // namespace sotto::detail::net
