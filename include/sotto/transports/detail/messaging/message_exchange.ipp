#pragma once

#include "sotto/transports/detail/messaging/message_exchange.hpp"

#include <algorithm>
#include <stdexcept>

#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::string name_of(const tag& label) {
    return "(channel " + std::to_string(label.channel) + ", item " + std::to_string(label.item) +
           ", round " + std::to_string(label.round) + ")";
}

SOTTO_DECL std::string described(const transfer& t) {
    return std::string(t.sends ? "it to receive a message " : "a message ") + name_of(t.label);
}

SOTTO_DECL std::string too_long(const transfer& t, int rank) {
    return "a message of " + std::to_string(t.ended.bytes) + " bytes " + name_of(t.label) +
           " from rank " + std::to_string(t.ended.source) + " to rank " + std::to_string(rank) +
           ", which has room for " + std::to_string(t.room());
}

SOTTO_DECL message_exchange::message_exchange(const char* transport, int rank, int size)
    : transport_(transport),
      rank_(rank),
      expected_(static_cast<std::size_t>(size) + 1),
      links_(static_cast<std::size_t>(size)) {}

SOTTO_DECL void message_exchange::connect(int peer, const link_terms& terms) {
    links_[static_cast<std::size_t>(peer)] =
        std::make_unique<framed_connection>(peer, terms, board_, activity_);
}

SOTTO_DECL bool message_exchange::expects(int peer) noexcept {
    return expected_[slot_of(peer)] + expected_[slot_of(any_rank)] > 0 ||
           link_to(peer)->awaits_peer();
}

SOTTO_DECL framed_connection* message_exchange::link_to(int peer) noexcept {
    return links_[static_cast<std::size_t>(peer)].get();
}

SOTTO_DECL transfer& message_exchange::send(int to, const tag& label, byte_view out) {
    require_rank("send", to, 0);
    transfer& t = take(true, to, label, static_cast<std::int64_t>(out.size()));
    t.source = out.data();
    if (to != rank_) {
        try {
            link_to(to)->send(t);
        } catch (...) {
            retire(t);
            throw;
        }
    } else if (transfer* const receive = board_.take_receive(rank_, label)) {
        meet(t, *receive);
    } else {
        board_.add_arrival(rank_, label, t.size, arrival::place::lent).sent_to_self = &t;
    }
    return t;
}

SOTTO_DECL bool message_exchange::holds(int from, const tag& label) const noexcept {
    return board_.has_arrival(from, label);
}

SOTTO_DECL transfer& message_exchange::receive(int from, const tag& label, mutable_byte_view in) {
    if (!holds(from, label)) require_rank("receive", from, any_rank);
    transfer& t = take(false, from, label, static_cast<std::int64_t>(in.size()));
    t.target = in.data();
    ++expected_[slot_of(from)];
    board_.post(t);
    try {
        meet_arrival(t);
    } catch (...) {
        retire(t);
        throw;
    }
    return t;
}

SOTTO_DECL transfer& message_exchange::find(request r) {
    if (r.slot < transfers_.size()) {
        transfer& t = transfers_[r.slot];
        if (t.generation == r.generation && t.reached != transfer::stage::idle) return t;
    }
    misuse("the request (slot " + std::to_string(r.slot) + ", generation " +
           std::to_string(r.generation) + ") is spent or was never made here");
}

SOTTO_DECL completion message_exchange::finish(transfer& t) noexcept {
    const completion ended = t.ended;
    (t.sends ? traffic_.bytes_sent : traffic_.bytes_received) += ended.bytes;
    ++(t.sends ? traffic_.messages_sent : traffic_.messages_received);
    retire(t);
    return ended;
}

SOTTO_DECL void message_exchange::retire(transfer& t) noexcept {
    board_.remove(t);
    if (!t.sends) --expected_[slot_of(t.peer)];
    t.reached = transfer::stage::idle;
    in_use_.remove(t);
    ++t.generation;
    free_.push_back(t.slot);  // has room for every slot
}

SOTTO_DECL const transfer* message_exchange::longest_waiting() const noexcept {
    return in_use_.longest_waiting(
        [](const transfer& t) { return t.reached == transfer::stage::posted; });
}

SOTTO_DECL void message_exchange::disconnect(int peer) {
    std::vector<transfer*> again;
    again.reserve(transfers_.size());  // the following steps must not fail halfway
    if (framed_connection* const link = link_to(peer))
        link->abandon([&](transfer& t) {
            if (t.peer != any_rank) return;
            board_.post_again(t);
            again.push_back(&t);
        });
    for_each_under_way([&](transfer& t) {
        if (t.peer != peer) return;
        board_.remove(t);
        t.reached = transfer::stage::lost;
    });
    links_[static_cast<std::size_t>(peer)].reset();
    ++activity_;
    std::sort(again.begin(), again.end(),
              [](const transfer* a, const transfer* b) { return a->posted < b->posted; });
    for (transfer* const t : again) meet_arrival(*t);
}

SOTTO_DECL void message_exchange::abandon() noexcept {
    links_.clear();
    while (transfer* const t = in_use_.oldest()) retire(*t);
}

SOTTO_DECL void message_exchange::reserve(std::int64_t count) {
    if (count < 0 || count > transfers_max)
        throw invalid_option(std::string(transport_) + ": room for " + std::to_string(count) +
                             " transfers; 0 to 2^24 are possible");
    const auto needed = (std::max)(static_cast<std::size_t>(count), transfers_.size());
    free_.reserve(needed);
    board_.reserve(needed);
    while (transfers_.size() < needed) {
        transfer& t = transfers_.emplace_back();
        t.slot = static_cast<std::uint32_t>(transfers_.size() - 1);
        free_.push_back(t.slot);
    }
}

SOTTO_DECL void message_exchange::misuse(const std::string& what) const {
    throw std::logic_error(std::string(transport_) + ": rank " + std::to_string(rank_) + ": " +
                           what);
}

SOTTO_DECL void message_exchange::require_rank(const char* what, int peer, int lowest) {
    if (peer < lowest || peer >= size())
        throw invalid_option(std::string(transport_) + ": rank " + std::to_string(rank_) + ": " +
                             what + " with rank " + std::to_string(peer) + "; ranks are 0 to " +
                             std::to_string(size() - 1));
    if (peer >= 0 && peer != rank_ && !link_to(peer))
        throw invalid_option(std::string(transport_) + ": rank " + std::to_string(rank_) + ": " +
                             what + " with rank " + std::to_string(peer) +
                             ", which it is not connected to");
}

SOTTO_DECL transfer& message_exchange::take(bool sends, int peer, const tag& label,
                                            std::int64_t size) {
    if (free_.empty())
        reserve(std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(transfers_.size())));
    transfer& t = transfers_[free_.back()];
    free_.pop_back();
    t.sends = sends;
    t.peer = peer;
    t.label = label;
    t.size = size;
    t.ended = {rank_, size};
    t.reached = transfer::stage::posted;
    in_use_.add(t);
    return t;
}

SOTTO_DECL void message_exchange::meet_arrival(transfer& receive) {
    arrival* const there = board_.find_arrival(receive);
    if (!there) return;
    if (there->where == arrival::place::lent) {
        meet(*there->sent_to_self, receive);
        board_.release(*there);
    } else if (!there->has_content && has_content(receive.memory())) {
        misuse("a message without content came for memory that wants some");
    } else if (framed_connection* const link = link_to(there->source)) {
        link->hand_over(*there, receive);
    } else {  // its sender failed or left
        deliver(receive, there->source, there->room());
        ++activity_;
        board_.release(*there);
    }
    board_.remove(receive);
}

SOTTO_DECL void message_exchange::meet(transfer& send, transfer& receive) noexcept {
    deliver(receive, rank_, {send.source, static_cast<std::size_t>(send.size)});
    send.reached = receive.reached;
    send.peer_room = receive.size;
    activity_ += 2;
}

}  // namespace sotto::detail::net
