#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/contentless.hpp"
#include "sotto/transports/detail/messaging/message_memory.hpp"
#include "sotto/transports/detail/messaging/tag_lists.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// Memory that was lent for a message to or from another process, and how far it is.
struct transfer {
    enum class stage : std::uint8_t { idle, posted, complete, too_long, lost };

    stage reached = stage::idle;
    bool sends = false;
    bool linked = false;  // waits on the board
    int peer = 0;
    tag label;
    std::uint64_t posted = 0;  // of a receive: how many were before it
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::int64_t size = 0;
    completion ended;
    std::int64_t peer_room = 0;    // of a send to this rank itself that is too long
    std::uint32_t slot = 0;        // where its endpoint keeps it
    std::uint32_t generation = 1;  // uses of the slot: tells a spent request from a live one
    transfer* before = nullptr;
    transfer* after = nullptr;
    transfer* older = nullptr;  // in use and taken before it
    transfer* newer = nullptr;  // and after it

    /// Of the receive that a message was too long for.
    std::int64_t room() const noexcept { return sends ? peer_room : size; }

    /// Of a receive.
    mutable_byte_view memory() const noexcept { return {target, static_cast<std::size_t>(size)}; }

    bool is_for(int from, const tag& what) const noexcept {
        return label == what && (peer == any_rank || peer == from);
    }
};

/// A message that came before its receive: its bytes, or word that it waits at its sender.
struct arrival {
    int source = 0;
    tag label;
    std::int64_t size = 0;
    enum class place : std::uint8_t { here, coming, at_sender, lent } where = place::here;
    bool has_content = true;           // else only a size is known
    message_memory::block content;     // here, or coming
    std::uint64_t announcement = 0;    // at_sender: its number
    transfer* sent_to_self = nullptr;  // lent: the send that lends it
    transfer* claimed_by = nullptr;    // coming: the receive that was posted meanwhile
    bool linked = false;
    arrival* before = nullptr;
    arrival* after = nullptr;

    mutable_byte_view room() const {
        const auto count = static_cast<std::size_t>(size);
        if (!has_content) return without_content<std::byte>(count);
        return {content.bytes.get(), count};
    }
};

/// Where an endpoint's receives and the messages of other processes meet.
///   cost    a message steps over those of other tags that share a list with it: see tag_lists
class message_board {
public:
    /// Room for so many receives, and for as many messages that came before theirs.
    void reserve(std::size_t count) {
        receives_.reserve(count);
        arrivals_.reserve(count);
    }

    /// Takes the oldest receive that is for this message, or nothing.
    transfer* take_receive(int from, const tag& label) noexcept {
        auto& waiting = receives_.of(label);
        for (transfer* t = waiting.first(); t; t = t->after)
            if (t->is_for(from, label)) {
                waiting.unlink(*t);
                return t;
            }
        return nullptr;
    }

    bool has_receive(int from, const tag& label) const noexcept {
        for (const transfer* t = receives_.of(label).first(); t; t = t->after)
            if (t->is_for(from, label)) return true;
        return false;
    }

    void post(transfer& receive) noexcept {
        receive.posted = posted_++;
        receives_.of(receive.label).push_back(receive);
    }

    /// Of a receive whose message does not come after all: it is as old as it was.
    void post_again(transfer& receive) noexcept {
        auto& waiting = receives_.of(receive.label);
        transfer* after = waiting.first();
        while (after && after->posted < receive.posted) after = after->after;
        waiting.insert_before(after, receive);
    }

    void remove(transfer& receive) noexcept {
        if (receive.linked) receives_.of(receive.label).unlink(receive);
    }

    /// The oldest message that this receive is for, or nothing; take it by `claim` or `release`.
    arrival* find_arrival(const transfer& receive) const noexcept {
        for (arrival* a = arrivals_.of(receive.label).first(); a; a = a->after)
            if (receive.is_for(a->source, a->label)) return a;
        return nullptr;
    }

    /// Whether a whole message is here that no receive was for.
    bool has_arrival(int from, const tag& label) const noexcept {
        for (const arrival* a = arrivals_.of(label).first(); a; a = a->after)
            if (a->where == arrival::place::here && a->source == from && a->label == label)
                return true;
        return false;
    }

    /// This message is the receive's, once it has come; then give it back by `release`.
    void claim(arrival& coming, transfer& receive) noexcept {
        arrivals_.of(coming.label).unlink(coming);
        coming.claimed_by = &receive;
    }

    /// Room for a message that no receive is for.
    arrival& add_arrival(int from, const tag& label, std::int64_t size, arrival::place where,
                         bool has_content = true) {
        if (free_.empty()) {
            if (free_.capacity() == pool_.size()) free_.reserve(2 * pool_.size() + 1);
            free_.push_back(&pool_.emplace_back());
        }
        arrival& a = *free_.back();
        if (where == arrival::place::coming && has_content)
            a.content = memory_.take(static_cast<std::size_t>(size));
        free_.pop_back();
        a.source = from;
        a.label = label;
        a.size = size;
        a.where = where;
        a.has_content = has_content;
        a.sent_to_self = a.claimed_by = nullptr;
        arrivals_.of(label).push_back(a);
        return a;
    }

    void release(arrival& a) noexcept {
        if (a.linked) arrivals_.of(a.label).unlink(a);
        memory_.give_back(std::exchange(a.content, {}));
        free_.push_back(&a);  // has room for every one
    }

    /// Forgets what a rank announced and will not send, and what is behind that: messages of one
    /// tag come in the order they were sent in, or not. What it had sent before is still there.
    void forget_announced(int from) noexcept {
        for (arrival& a : pool_)
            if (a.linked && a.source == from && a.where == arrival::place::at_sender)
                forget(&a, from, a.label);
    }

    /// Forgets what a rank has sent of one tag and nobody has received.
    void forget(int from, const tag& label) noexcept {
        forget(arrivals_.of(label).first(), from, label);
    }

    /// Forgets what a rank has sent and nobody has received.
    void forget(int from) noexcept {
        for (arrival& a : pool_)
            if (a.linked && a.source == from) release(a);
    }

    /// Bytes that a rank has sent and that wait for their receive, whole or in part.
    std::int64_t bytes_from(int rank) const noexcept {
        std::int64_t sum = 0;
        for (const arrival& a : pool_)
            if (a.linked && a.source == rank &&
                (a.where == arrival::place::here || a.where == arrival::place::coming))
                sum += a.size;
        return sum;
    }

private:
    /// From one on in its list.
    void forget(arrival* first, int from, tag label) noexcept {
        for (arrival* a = first; a;) {
            arrival& here = *std::exchange(a, a->after);
            if (here.source == from && here.label == label) release(here);
        }
    }

    tag_lists<transfer> receives_;
    tag_lists<arrival> arrivals_;
    std::uint64_t posted_ = 0;
    message_memory memory_;
    std::deque<arrival> pool_;
    std::vector<arrival*> free_;
};

/// Copies a message to where it is wanted and completes the receive, unless it is too long.
inline void deliver(transfer& receive, int source, byte_view content) noexcept {
    receive.ended = {source, static_cast<std::int64_t>(content.size())};
    if (receive.ended.bytes > receive.size) {
        receive.reached = transfer::stage::too_long;
        return;
    }
    if (!content.empty() && receive.target != content.data() && has_content(content) &&
        has_content(receive.memory()))
        std::memcpy(receive.target, content.data(), content.size());
    receive.reached = transfer::stage::complete;
}

}  // namespace sotto::detail::net
