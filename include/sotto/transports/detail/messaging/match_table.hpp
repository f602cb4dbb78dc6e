#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sotto/core/bytes.hpp"
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

    bool is_for(int from, const tag& what) const noexcept;
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

    mutable_byte_view room() const;
};

/// Where an endpoint's receives and the messages of other processes meet.
///   cost    a message steps over those of other tags that share a list with it: see tag_lists
class match_table {
public:
    /// Room for so many receives, and for as many messages that came before theirs.
    void reserve(std::size_t count);

    /// Takes the oldest receive that is for this message, or nothing.
    transfer* take_receive(int from, const tag& label) noexcept;

    bool has_receive(int from, const tag& label) const noexcept;

    void post(transfer& receive) noexcept;

    /// Of a receive whose message does not come after all: it is as old as it was.
    void post_again(transfer& receive) noexcept;

    void remove(transfer& receive) noexcept;

    /// The oldest message that this receive is for, or nothing; take it by `claim` or `release`.
    arrival* find_arrival(const transfer& receive) const noexcept;

    /// Whether a whole message is here that no receive was for.
    bool has_arrival(int from, const tag& label) const noexcept;

    /// This message is the receive's, once it has come; then give it back by `release`.
    void claim(arrival& coming, transfer& receive) noexcept;

    /// Room for a message that no receive is for.
    arrival& add_arrival(int from, const tag& label, std::int64_t size, arrival::place where,
                         bool has_content = true);

    void release(arrival& a) noexcept;

    /// Forgets what a rank announced and will not send, and what is behind that: messages of one
    /// tag come in the order they were sent in, or not. What it had sent before is still there.
    void forget_announced(int from) noexcept;

    /// Forgets what a rank has sent of one tag and nobody has received.
    void forget(int from, const tag& label) noexcept;

    /// Forgets what a rank has sent and nobody has received.
    void forget(int from) noexcept;

    /// Bytes that a rank has sent and that wait for their receive, whole or in part.
    std::int64_t bytes_from(int rank) const noexcept;

private:
    /// From one on in its list.
    void forget(arrival* first, int from, tag label) noexcept;

    tag_lists<transfer> receives_;
    tag_lists<arrival> arrivals_;
    std::uint64_t posted_ = 0;
    message_memory memory_;
    std::deque<arrival> pool_;
    std::vector<arrival*> free_;
};

/// Copies a message to where it is wanted and completes the receive, unless it is too long.
void deliver(transfer& receive, int source, byte_view content) noexcept;

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/match_table.ipp"
#endif
