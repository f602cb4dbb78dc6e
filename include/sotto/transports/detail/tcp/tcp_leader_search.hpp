#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/detail/tcp/tcp_resolver.hpp"

namespace sotto::detail::net {

/// Where a rank looks for rank 0. Until rank 0 answers, its name is resolved again: rank 0 may move
/// to another address, or have several.
class tcp_leader_search {
public:
    tcp_leader_search(const tcp_options& options, resolver ask)
        : options_(&options), ask_(std::move(ask)) {}

    /// The first address.
    ///   errors  as find_leader
    asio::ip::tcp::endpoint begin(deadline& limit) {
        const auto found = find_leader(*options_, limit, ask_);
        require_private(*options_, found, "address");
        asked_at_ = std::chrono::steady_clock::now();
        is_name_ = !literal_address(options_->address);
        addresses_ = {found};
        return at(found);
    }

    /// Where to look until rank 0 answers: `tried`, while that is still one of its addresses.
    asio::ip::tcp::endpoint look(const asio::ip::tcp::endpoint& tried, time_point now) {
        if (!is_name_) return tried;
        if (const auto found = lookup_.take()) learn(*found);
        if (now - asked_at_ >= pause) {
            asked_at_ = now;
            lookup_.ask(ask_, options_->address);
        }
        return place_of(tried) == addresses_.end() ? at(addresses_.front()) : tried;
    }

    /// Where to look next, after an attempt at `tried` had no answer.
    asio::ip::tcp::endpoint after(const asio::ip::tcp::endpoint& tried, time_point now) {
        const asio::ip::tcp::endpoint place = look(tried, now);
        if (!is_name_ || place != tried) return place;
        const auto next = std::next(place_of(tried));
        return at(next == addresses_.end() ? addresses_.front() : *next);
    }

    /// Whether a question is open.
    bool waits() const noexcept { return lookup_.waits(); }

private:
    static constexpr duration pause = std::chrono::seconds(1);  // between two questions

    asio::ip::tcp::endpoint at(const asio::ip::address& address) const {
        return {address, options_->port};
    }
    std::vector<asio::ip::address>::const_iterator place_of(
        const asio::ip::tcp::endpoint& tried) const {
        return std::find(addresses_.begin(), addresses_.end(), tried.address());
    }

    /// Takes over what may be used; an answer without any changes nothing.
    void learn(const resolved& found) {
        const bool on_this_machine = is_no_host_name(options_->address);
        std::vector<asio::ip::address> usable;
        for (const asio::ip::address& each : found.addresses)
            if (const auto address = unmapped(each);
                is_private(*options_, address) && (on_this_machine || !address.is_loopback()))
                usable.push_back(address);
        if (!usable.empty()) addresses_ = std::move(usable);
    }

    const tcp_options* options_;
    resolver ask_;
    bool is_name_ = false;
    std::vector<asio::ip::address> addresses_;  // at least one, once it has begun
    time_point asked_at_{};
    pending_lookup lookup_;
};

}  // namespace sotto::detail::net
