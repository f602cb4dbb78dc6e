#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_resolver.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"

namespace sotto::detail::net {

/// Where a rank looks for rank 0. The name of rank 0 is resolved again until it answers: it may
/// move to another address, or have several.
class tcp_leader_search {
public:
    tcp_leader_search(const tcp_options& options, resolver ask)
        : options_(&options), ask_(std::move(ask)) {}

    /// First address.
    ///   errors  as find_leader
    asio::ip::tcp::endpoint begin(deadline& limit);

    /// Where to look until rank 0 answers: `tried`, if it is still one of its addresses.
    asio::ip::tcp::endpoint look(const asio::ip::tcp::endpoint& tried, time_point now);

    /// Where to look next, after an attempt at `tried` had no answer.
    asio::ip::tcp::endpoint after(const asio::ip::tcp::endpoint& tried, time_point now);

    /// True if a lookup is in progress.
    bool waits() const noexcept { return lookup_.waits(); }

private:
    static constexpr duration pause = std::chrono::seconds(1);  // between two lookups

    asio::ip::tcp::endpoint at(const asio::ip::address& address) const;
    std::vector<asio::ip::address>::const_iterator place_of(
        const asio::ip::tcp::endpoint& tried) const;

    /// Takes over the usable addresses. An answer without any changes nothing.
    void learn(const resolved& found);

    const tcp_options* options_;
    resolver ask_;
    bool is_name_ = false;
    std::vector<asio::ip::address> addresses_;  // at least one, once it has begun
    time_point asked_at_{};
    pending_lookup lookup_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_leader_search.ipp"
#endif
