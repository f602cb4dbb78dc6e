#pragma once

#include "sotto/transports/tcp_options.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/text/host_port.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"

namespace sotto {

SOTTO_DECL tcp_options tcp_options::at(const placement& place) {
    tcp_options made;
    made.rank = place.rank;
    made.size = place.size;
    made.address = place.address;
    made.port = place.port;
    made.bind = place.bind;
    return made;
}

}  // namespace sotto

namespace sotto::detail::net {

SOTTO_DECL bool must_be_of_one_user(const tcp_options& options) noexcept {
    return !options.security && !options.insecure_network && !options.allow_other_users;
}

SOTTO_DECL void require_possible(const tcp_options& options) {
    const auto refuse = [](const std::string& what) { throw invalid_option("tcp: " + what); };
    if (options.size < 1 || options.size > 65536)
        refuse("size is " + std::to_string(options.size) + "; 1 to 65536 ranks are possible");
    if (options.rank < 0 || options.rank >= options.size)
        refuse("rank is " + std::to_string(options.rank) + "; ranks are 0 to " +
               std::to_string(options.size - 1));
    const auto host = read_host_port(options.address);
    if (!host || host->port)
        refuse("address is '" + printable(options.address) +
               "'; a host alone is expected: its port is tcp_options::port, or SOTTO_PORT");
    const auto require_above_0 = [&](const char* name, duration value) {
        if (value <= duration::zero())
            refuse(std::string(name) + " is " + std::to_string(value.count()) +
                   " ns; it must be above 0");
    };
    require_above_0("timeout", options.timeout);
    require_above_0("join", options.join);
    require_above_0("handshake", options.handshake);
    require_above_0("heartbeat", options.heartbeat);
    const auto require_at_most_a_year = [&](const char* name, duration value) {
        if (value > std::chrono::hours(24 * 366))
            refuse(std::string(name) + " is " + std::to_string(value.count()) +
                   " ns; a year is the longest that can be waited for, but a timeout may be "
                   "sotto::deadline::never");
    };
    if (options.timeout != deadline::never) require_at_most_a_year("timeout", options.timeout);
    require_at_most_a_year("join", options.join);
    require_at_most_a_year("handshake", options.handshake);
    require_at_most_a_year("heartbeat", options.heartbeat);
    require_at_most_a_year("dead_after", options.dead_after);
    if (options.dead_after != duration::zero() && options.dead_after < 4 * options.heartbeat)
        refuse("dead_after is " + std::to_string(options.dead_after.count()) +
               " ns; it must be 0 or at least four heartbeats, of " +
               std::to_string(options.heartbeat.count()) + " ns");
    if (options.budget < 65536)
        refuse("budget is " + std::to_string(options.budget) + " bytes; it must be at least 65536");
    if (options.transfers < 0)
        refuse("room for " + std::to_string(options.transfers) +
               " transfers; it must be at least 0");
}

}  // namespace sotto::detail::net
