#pragma once

#include "sotto/transports/detail/tcp/tcp_links.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/framed_connection.hpp"

namespace sotto::detail::net {

SOTTO_DECL tcp_links::tcp_links(message_exchange& exchange, tcp_control& control,
                                std::vector<std::unique_ptr<tcp_socket>> sockets)
    : exchange_(&exchange), control_(&control), sockets_(std::move(sockets)) {
    for (int peer = 0; peer < size(); ++peer)
        if (at(peer)) use(peer);
}

SOTTO_DECL bool tcp_links::any_open() const noexcept {
    return std::any_of(sockets_.begin(), sockets_.end(), [](const auto& s) { return bool(s); });
}

SOTTO_DECL bool tcp_links::all_open() const noexcept {
    const auto open =
        std::count_if(sockets_.begin(), sockets_.end(), [](const auto& s) { return bool(s); });
    return open + 1 == std::ssize(sockets_);
}

SOTTO_DECL void tcp_links::open(int peer, std::unique_ptr<tcp_socket> socket) {
    at(peer) = std::move(socket);
    lost_.erase(peer);
    use(peer);
}

SOTTO_DECL void tcp_links::forget(int peer) noexcept {
    if (!at(peer)) return;
    control_->carries_messages(peer, std::nullopt);
    at(peer)->close();
    at(peer).reset();
}

SOTTO_DECL void tcp_links::close() noexcept {
    take_from_control();
    for (auto& s : sockets_)
        if (s) s->close();
}

SOTTO_DECL void tcp_links::move_now_and_then() {
    const time_point present = now();
    if (present - moved_at_ < std::chrono::microseconds(2)) return;
    // A rank that only polls must not wait for a peer that accepts no more because this rank reads
    // nothing from it.
    move(0, full_ && present - full_at_ > full_max);
    moved_at_ = present;
}

SOTTO_DECL void tcp_links::move(std::int64_t keeps, bool from_all) {
    bool full = false;
    halted_ = false;
    for (int peer = 0; peer < size(); ++peer) {
        if (!at(peer)) continue;
        if (from_all || exchange_->expects(peer)) read(peer, from_all ? keeps_all : keeps);
        halted_ = halted_ || (at(peer) && exchange_->link_to(peer)->halted());
        write(peer);
        full = full || (at(peer) && exchange_->link_to(peer)->has_output());
    }
    if ((full && !full_) || from_all) full_at_ = now();
    full_ = full;
}

SOTTO_DECL void tcp_links::write(int peer) {
    framed_connection& link = *exchange_->link_to(peer);
    while (at(peer) && link.has_output()) {
        const moved sent = at(peer)->write(link.output());
        if (sent.bytes == 0) return;  // reading detects that it is closed, after earlier data
        link.written(sent.bytes);
    }
}

SOTTO_DECL void tcp_links::write_to_all() {
    for (int peer = 0; peer < size(); ++peer)
        if (at(peer)) write(peer);
}

SOTTO_DECL void tcp_links::read(int peer, std::int64_t keeps) {
    framed_connection& link = *exchange_->link_to(peer);
    if (link.halted() && !take(peer, link.received(0, keeps))) return;
    while (at(peer) && !link.halted()) {
        const auto room = link.input();
        const moved got = at(peer)->read(room);
        if (got.closed) return lose(peer, got);
        if (!take(peer, link.received(got.bytes, keeps))) return;
        if (got.bytes < room[0].size() + room[1].size()) return;
    }
}

SOTTO_DECL void tcp_links::read_all() {
    for (int peer = 0; peer < size(); ++peer)
        if (at(peer)) read(peer);
}

SOTTO_DECL void tcp_links::sleep(duration most, wake_up& woken, std::span<const pollfd> others) {
    waits_.assign(1, {woken.handle(), POLLIN, 0});
    waiting_ranks_.assign(1, exchange_->rank());
    for (int peer = 0; peer < size(); ++peer) {
        if (!at(peer)) continue;
        waits_.push_back(
            {at(peer)->handle(), at(peer)->interest(exchange_->link_to(peer)->has_output()), 0});
        waiting_ranks_.push_back(peer);
    }
    const bool lost = waits_.size() < static_cast<std::size_t>(size());
    const std::size_t own = waits_.size();
    waits_.insert(waits_.end(), others.begin(), others.end());
    wait_for_any(waits_, std::min<duration>(most, lost ? grace : std::chrono::seconds(1)));
    if ((waits_[0].revents & POLLIN) != 0) woken.silence();
    for (std::size_t i = 1; i < own; ++i) {
        const int peer = waiting_ranks_[i];  // `move` reads the others
        if ((waits_[i].revents & ~POLLOUT) != 0 && !exchange_->expects(peer)) read(peer);
    }
}

SOTTO_DECL std::optional<std::string> tcp_links::why_lost(int peer) {
    if (!cause_due_.passed(now())) return std::nullopt;
    const auto how = lost_.find(peer);
    return "its connection for messages with rank " + std::to_string(exchange_->rank()) + " ended" +
           (how == lost_.end() ? "" : how->second);
}

SOTTO_DECL std::unique_ptr<tcp_socket>& tcp_links::at(int peer) noexcept {
    return sockets_[static_cast<std::size_t>(peer)];
}

SOTTO_DECL const std::unique_ptr<tcp_socket>& tcp_links::at(int peer) const noexcept {
    return sockets_[static_cast<std::size_t>(peer)];
}

SOTTO_DECL void tcp_links::use(int peer) {
    at(peer)->hurry_within_machine();
    control_->carries_messages(peer, at(peer)->handle());
}

SOTTO_DECL void tcp_links::take_from_control() noexcept {
    for (int peer = 0; peer < size(); ++peer) control_->carries_messages(peer, std::nullopt);
}

SOTTO_DECL bool tcp_links::take(int peer, const std::optional<fault>& why) {
    if (!why) return true;
    control_->with([&](membership& m) {
        m.fail(peer, "it sent what is no frame: " + why->text(), errc::altered);
    });
    lose(peer, {});
    return false;
}

SOTTO_DECL void tcp_links::lose(int peer, const moved& end) {
    const bool is_cut = !exchange_->link_to(peer)->between_frames();
    lost_[peer] = (is_cut ? " inside of a message" : "") + (end.why.empty() ? "" : ": " + end.why);
    forget(peer);
    cause_due_ = deadline(now(), grace);
    if (end.altered)
        control_->with([&](membership& m) {
            if (m.of(peer) == membership::standing::alive)
                m.fail(peer, altered(end.why, exchange_->rank()), errc::altered);
        });
}

}  // namespace sotto::detail::net
