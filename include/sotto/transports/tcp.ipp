#pragma once

#include "sotto/transports/tcp.hpp"

#include <stdexcept>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/detail/tcp/tcp_rendezvous.hpp"
#include "sotto/transports/detail/tcp/tcp_join.hpp"
#include "sotto/transports/detail/tcp/tcp_rank.hpp"

namespace sotto {

SOTTO_DECL tcp::meeting::meeting(const tcp_options& options) : options_(options) {
    detail::net::require_possible(options);
    auto context = detail::net::open_context(options);
    if (options.elastic)
        gathering_ = std::make_unique<detail::net::tcp_rendezvous>(std::move(context), options);
    else
        joining_ = std::make_unique<detail::net::tcp_join>(std::move(context), options);
}

SOTTO_DECL tcp::meeting::meeting(meeting&&) noexcept = default;
SOTTO_DECL tcp::meeting& tcp::meeting::operator=(meeting&&) noexcept = default;
SOTTO_DECL tcp::meeting::~meeting() = default;

SOTTO_DECL std::uint16_t tcp::meeting::port() {
    require_open();
    return gathering_ ? gathering_->listen() : joining_->listen();
}

SOTTO_DECL tcp tcp::meeting::join() {
    require_open();
    auto gathering = std::exchange(gathering_, nullptr);
    auto joining = std::exchange(joining_, nullptr);
    auto connections = gathering ? gathering->run() : joining->run();
    joining.reset();  // closes its port before more is opened
    return tcp(std::make_unique<detail::net::tcp_rank>(options_, std::move(connections),
                                                       std::move(gathering)));
}

SOTTO_DECL void tcp::meeting::require_open() const {
    if (!joining_ && !gathering_) throw std::logic_error("tcp: the meeting is over: it was joined");
}

SOTTO_DECL tcp::tcp(std::unique_ptr<detail::net::tcp_rank> does)
    : rank_(does->rank()), size_(does->size()), does_(std::move(does)) {}

SOTTO_DECL tcp::~tcp() = default;

SOTTO_DECL request tcp::send(int to, tag label, byte_view out) {
    return does_->send(to, label, out);
}

SOTTO_DECL request tcp::receive(int from, tag label, mutable_byte_view in) {
    return does_->receive(from, label, in);
}

SOTTO_DECL std::optional<completion> tcp::poll(request r) {
    return does_->poll(r);
}

SOTTO_DECL completion tcp::wait(request r) {
    return does_->wait(r);
}

SOTTO_DECL std::uint64_t tcp::activity() const noexcept {
    return does_->activity();
}

SOTTO_DECL void tcp::await(std::uint64_t seen) {
    does_->await(seen);
}

SOTTO_DECL bool tcp::agree(bool vote) {
    return does_->agree(vote);
}

SOTTO_DECL tcp::ballot& tcp::open_ballot(std::span<const int> members, std::uint32_t label) {
    return does_->open_ballot(members, label);
}

SOTTO_DECL bool tcp::agree(ballot& among, bool vote) {
    return does_->agree(among, vote);
}

SOTTO_DECL void tcp::withdraw() noexcept {
    does_->withdraw();
}

SOTTO_DECL void tcp::fail(std::string_view cause, errc kind) noexcept {
    does_->fail(cause, kind);
}

SOTTO_DECL void tcp::blame(int rank, const std::string& cause, errc code) {
    does_->blame(rank, cause, code);
}

SOTTO_DECL void tcp::tolerate() {
    does_->tolerate();
}

SOTTO_DECL std::optional<rank_change> tcp::next_change() {
    return does_->next_change();
}

SOTTO_DECL void tcp::at(peer_failure::job_phase now) noexcept {
    does_->at(now);
}

SOTTO_DECL void tcp::reserve(std::int64_t count) {
    does_->reserve(count);
}

SOTTO_DECL traffic tcp::counters() const noexcept {
    return does_->counters();
}

}  // namespace sotto
