#pragma once

#include "sotto/transports/detail/tcp/tcp_leader_search.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"

namespace sotto::detail::net {

SOTTO_DECL asio::ip::tcp::endpoint tcp_leader_search::begin(deadline& limit) {
    const auto found = find_leader(*options_, limit, ask_);
    require_private(*options_, found, "address");
    asked_at_ = std::chrono::steady_clock::now();
    is_name_ = !literal_address(options_->address);
    addresses_ = {found};
    return at(found);
}

SOTTO_DECL asio::ip::tcp::endpoint tcp_leader_search::look(const asio::ip::tcp::endpoint& tried,
                                                           time_point now) {
    if (!is_name_) return tried;
    if (const auto found = lookup_.take()) learn(*found);
    if (now - asked_at_ >= pause) {
        asked_at_ = now;
        lookup_.ask(ask_, options_->address);
    }
    return place_of(tried) == addresses_.end() ? at(addresses_.front()) : tried;
}

SOTTO_DECL asio::ip::tcp::endpoint tcp_leader_search::after(const asio::ip::tcp::endpoint& tried,
                                                            time_point now) {
    const asio::ip::tcp::endpoint place = look(tried, now);
    if (!is_name_ || place != tried) return place;
    const auto next = std::next(place_of(tried));
    return at(next == addresses_.end() ? addresses_.front() : *next);
}

SOTTO_DECL asio::ip::tcp::endpoint tcp_leader_search::at(const asio::ip::address& address) const {
    return {address, options_->port};
}

SOTTO_DECL std::vector<asio::ip::address>::const_iterator tcp_leader_search::place_of(
    const asio::ip::tcp::endpoint& tried) const {
    return std::find(addresses_.begin(), addresses_.end(), tried.address());
}

SOTTO_DECL void tcp_leader_search::learn(const resolved& found) {
    const bool on_this_machine = is_no_host_name(options_->address);
    std::vector<asio::ip::address> usable;
    for (const asio::ip::address& each : found.addresses)
        if (const auto address = unmapped(each);
            is_private(*options_, address) && (on_this_machine || !address.is_loopback()))
            usable.push_back(address);
    if (!usable.empty()) addresses_ = std::move(usable);
}

}  // namespace sotto::detail::net
