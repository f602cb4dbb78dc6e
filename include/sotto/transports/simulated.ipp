#pragma once

#include "sotto/transports/simulated.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto::detail::simulation {

SOTTO_DECL std::size_t library::packet_bytes_max() const noexcept {
    return static_cast<std::size_t>(among_->options().packet);
}

SOTTO_DECL library::operation library::send(int to, net::packet_kind kind, byte_view out) {
    return is_killed() ? gone : among_->send(rank_, to, kind, out);
}

SOTTO_DECL std::optional<library::packet> library::next(net::packet_kind kind) {
    if (is_killed()) return std::nullopt;
    const auto at = among_->next(rank_, kind);
    if (!at) return std::nullopt;
    return packet{among_->source(*at), among_->size_of(*at), *at};
}

SOTTO_DECL library::operation library::receive(const packet& came, mutable_byte_view in) noexcept {
    among_->receive(came.at, in);
    return gone;
}

SOTTO_DECL bool library::complete(const operation& in_flight) const noexcept {
    return in_flight <= now() || is_killed();
}

SOTTO_DECL void library::asked_in_vain() {
    if (++asked_ < asked_at_once) return;
    asked_ = 0;
    time().sleep(rank_, now() + asked_at_once * among_->options().call);
}

SOTTO_DECL void library::pause(duration, bool, time_point until) {
    constexpr duration longest = std::chrono::milliseconds(100);
    asked_ = 0;
    time().sleep(rank_, (std::min)(until, now() + longest));
}

SOTTO_DECL void library::served_by(std::function<bool()> serve) {
    if (serve)
        among_->connect(rank_, period(), std::move(serve));
    else
        among_->disconnect(rank_);
}

SOTTO_DECL void library::require_caller() const {
    if (is_killed()) throw killed();
}

SOTTO_DECL void library::end_job(std::string_view why) noexcept {
    print_line(stderr, "sotto: simulated: rank " + std::to_string(rank_) +
                           " ends the job: " + std::string(why));
    std::abort();
}

SOTTO_DECL duration library::period() const noexcept {
    return among_->options().dead_after > duration::zero() ? among_->options().heartbeat
                                                           : duration::zero();
}

}  // namespace sotto::detail::simulation

namespace sotto {

SOTTO_DECL std::optional<int> simulated::first_failed() const noexcept {
    const auto& why = members().first_failure();
    return why ? std::optional(why->rank) : std::nullopt;
}

}  // namespace sotto
