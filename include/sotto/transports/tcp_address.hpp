#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <cstring>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/wire/hello.hpp"

namespace sotto::detail::net {

/// The address that a name or a number stands for. Of several it is the first of IPv4, so that all
/// ranks take the same kind.
inline asio::ip::address resolve(asio::io_context& io, const std::string& name) {
    boost::system::error_code why;
    const auto literal = asio::ip::make_address(name, why);
    if (!why) return literal;
    asio::ip::tcp::resolver resolver(io);
    const auto found = resolver.resolve(name, "", why);
    if (why || found.begin() == found.end())
        throw invalid_option("tcp: no address for '" + name + "': " + why.message());
    for (const auto& entry : found)
        if (entry.endpoint().address().is_v4()) return entry.endpoint().address();
    return found.begin()->endpoint().address();
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
