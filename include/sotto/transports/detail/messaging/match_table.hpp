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

/// Memory lent for a message to or from another process, and the progress of the message.
struct transfer {
    enum class stage : std::uint8_t { idle, posted, complete, too_long, lost };

    stage reached = stage::idle;
    bool sends = false;
    bool linked = false;  // it waits on the board
    int peer = 0;
    tag label;
    std::uint64_t posted = 0;  // of a receive: number of receives before it
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::int64_t size = 0;
    completion ended;
    std::int64_t peer_room = 0;    // room for a send to this rank itself that is too long
    std::uint32_t slot = 0;        // its place in the endpoint
    std::uint32_t generation = 1;  // uses of the slot: distinguishes a spent request from a live
                                   // one
    transfer* before = nullptr;
    transfer* after = nullptr;
    transfer* older = nullptr;  // in use and taken before it
    transfer* newer = nullptr;  // in use and taken after it

    /// Room of the receive that a message was too long for.
    std::int64_t room() const noexcept { return sends ? peer_room : size; }

    /// Memory of a receive.
    mutable_byte_view memory() const noexcept { return {target, static_cast<std::size_t>(size)}; }

    bool is_for(int from, const tag& what) const noexcept;
};

/// A message that arrived before its receive: its bytes, or the announcement that it waits at its
/// sender.
struct arrival {
    int source = 0;
    tag label;
    std::int64_t size = 0;
    enum class place : std::uint8_t { here, coming, at_sender, lent } where = place::here;
    bool has_content = true;           // else only a size is known
    message_memory::block content;     // if here or coming
    std::uint64_t announcement = 0;    // if at_sender: its number
    transfer* sent_to_self = nullptr;  // if lent: the send that lends it
    transfer* claimed_by = nullptr;    // if coming: the receive posted since
    bool linked = false;
    arrival* before = nullptr;
    arrival* after = nullptr;

    mutable_byte_view room() const;
};

/// Matches an endpoint's receives with the messages of other processes.
///   cost    a message steps over entries of other tags in its list: see tag_lists
class match_table {
public:
    /// Makes room for this many receives and as many messages that arrived before theirs.
    void reserve(std::size_t count);

    /// Removes and returns the oldest receive for this message, or null.
    transfer* take_receive(int from, const tag& label) noexcept;

    bool has_receive(int from, const tag& label) const noexcept;

    void post(transfer& receive) noexcept;

    /// Posts a receive again whose message will not arrive; it keeps its age.
    void post_again(transfer& receive) noexcept;

    void remove(transfer& receive) noexcept;

    /// Oldest message for this receive, or null; take it by `claim` or `release`.
    arrival* find_arrival(const transfer& receive) const noexcept;

    /// True if a whole message is here that had no receive.
    bool has_arrival(int from, const tag& label) const noexcept;

    /// Assigns a message that is still arriving to a receive. Give it back by `release` once it has
    /// arrived.
    void claim(arrival& coming, transfer& receive) noexcept;

    /// Adds a message without a receive.
    arrival& add_arrival(int from, const tag& label, std::int64_t size, arrival::place where,
                         bool has_content = true);

    void release(arrival& a) noexcept;

    /// Drops messages that a rank announced and will not send, and later messages of the same tag:
    /// these must not overtake. Messages sent before are kept.
    void forget_announced(int from) noexcept;

    /// Drops all unreceived messages of one tag from a rank.
    void forget(int from, const tag& label) noexcept;

    /// Drops all unreceived messages from a rank.
    void forget(int from) noexcept;

    /// Bytes from a rank that wait for their receive, of whole messages and parts.
    std::int64_t bytes_from(int rank) const noexcept;

private:
    /// Drops messages from this one on in its list.
    void forget(arrival* first, int from, tag label) noexcept;

    tag_lists<transfer> receives_;
    tag_lists<arrival> arrivals_;
    std::uint64_t posted_ = 0;
    message_memory memory_;
    std::deque<arrival> pool_;
    std::vector<arrival*> free_;
};

/// Copies a message into its receive and completes it. A message that is too long is not copied.
void deliver(transfer& receive, int source, byte_view content) noexcept;

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/match_table.ipp"
#endif
