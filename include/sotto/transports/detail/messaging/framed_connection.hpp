#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/link_terms.hpp"
#include "sotto/transports/detail/messaging/match_table.hpp"
#include "sotto/transports/detail/messaging/outgoing_frame.hpp"
#include "sotto/transports/detail/messaging/ring_queue.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

/// One end of a connection that carries messages, without input or output: the caller moves the
/// bytes. It asks for bytes to write and passes in bytes that were read.
///
/// A message is sent at once while the receiver has room for it, with or without a posted receive.
/// The room is a budget, which the receiver gives back as messages find their receives. A message
/// beyond the budget is announced and sent once its receive is posted. So memory is bounded, no
/// order of receives can block, and a message with a posted receive arrives in place.
///   wire    frames of message, announce, ready, granted, credit and part, see
///           wire/detail/protocols/frame.hpp
///   cost    64 bytes a message, or a part of it, and a pass of a digest at each end. Only bytes
///           that arrive together with their header (`staging` at most) or before their receive are
///           copied
///   errors  `received` returns a fault if bytes do not follow the protocol. Nothing of that frame
///           takes effect, and the link cannot be used afterwards
class framed_connection {
public:
    /// `activity` grows by one with each transfer that ends.
    framed_connection(int peer, const link_terms& terms, match_table& board,
                      std::uint64_t& activity);
    framed_connection(const framed_connection&) = delete;
    framed_connection& operator=(const framed_connection&) = delete;

    int peer() const noexcept { return peer_; }

    // Transfers

    /// Starts a send to the peer.
    void send(transfer& t);

    /// Passes a message of the peer, which the board had kept, to a receive.
    void hand_over(arrival& from, transfer& to);

    // Out

    bool has_output() const noexcept { return !queue_.empty(); }

    /// Bytes to write, in this order; valid until `written` or another non-const call. At most as
    /// many as fit into a second-level cache, so they are still there when they are copied after
    /// their digest was computed.
    std::span<const byte_view> output();

    /// Reports that `count` of these bytes are written.
    void written(std::size_t count) noexcept;

    // In

    /// Memory for bytes to read: first for the rest of the current message, then for what follows
    /// it. Behind a long message only the next header is read, so that the next message arrives in
    /// place.
    std::array<mutable_byte_view, 2> input() noexcept;

    /// Processes `count` bytes that were put there. Before a message without a receive that is
    /// longer than `keeps`, the connection halts and leaves later bytes unread: a receive that is
    /// posted soon saves a copy. After many calls, or fewer if no transfer ends, it keeps that
    /// message after all, because later messages may be awaited.
    std::optional<fault> received(std::size_t count, std::int64_t keeps = keeps_all);

    /// Ends the connection. Calls `unfilled` with each receive that its bytes were to fill.
    template <class Visitor>
    void abandon(Visitor&& unfilled) {
        if (arrival* const coming = std::exchange(arrival_, nullptr)) {
            if (coming->claimed_by) unfilled(*coming->claimed_by);
            board_->release(*coming);
        }
        if (transfer* const receive = std::exchange(receive_, nullptr)) unfilled(*receive);
        for (const announced_message& m : std::exchange(expected_, {})) {
            board_->forget(peer_, m.of->label);  // it arrived after a message that never will
            unfilled(*m.of);
        }
        board_->forget_announced(peer_);
    }

    /// True if sends wait for the peer's `ready`, for which there is no receive.
    bool awaits_peer() const noexcept { return !announced_.empty(); }

    /// True if `received(0)` must be called before more is read.
    bool halted() const noexcept { return halted_; }

    /// True if the stream may end here.
    bool between_frames() const noexcept { return !reading_ && rest_ == 0 && staged_end_ == 0; }

private:
    static constexpr std::size_t views_max = 16;
    static constexpr std::size_t output_max = 262144;
    static constexpr std::size_t announced_max = 65536;
    static constexpr int tries_max = 32, asked_max = 1024;
    static constexpr std::int64_t overhead = 256;  // of a message that waits for its receive

    struct announced_message {
        std::uint64_t number;
        transfer* of;
    };

    /// Makes room for one more entry, so that later steps cannot fail.
    static void make_room(std::vector<announced_message>& in);

    static std::int64_t charge_of(std::int64_t size) noexcept { return size + overhead; }

    void push(wire::frame_type type, transfer* about, std::uint64_t announcement = 0);

    /// Writes a frame's header: its number in the stream, and the credit to give back.
    void seal(outgoing_frame& frame) noexcept;

    bool lacks_content(byte_view payload) const noexcept;
    bool lacks_content(const wire::frame_header& h) const noexcept;

    /// Gives back credit for a message that found its receive.
    void give_back(std::int64_t size);

    /// Requests a message that waits at the peer, for its receive.
    void accept(std::uint64_t announcement, std::int64_t size, transfer& receive);

    std::optional<fault> begin(const wire::frame_header& h);

    static tag label_of(const wire::frame_header& h) noexcept;

    static std::optional<fault> begin_nothing(const wire::frame_header& h) noexcept;

    std::optional<fault> begin_message(const wire::frame_header& h, std::int64_t size);

    std::optional<fault> begin_granted(const wire::frame_header& h, std::int64_t size);

    std::optional<fault> note(const wire::frame_header& h, std::int64_t size);

    std::optional<fault> grant(const wire::frame_header& h);

    static std::vector<announced_message>::iterator find(std::vector<announced_message>& among,
                                                         std::uint64_t number) noexcept;

    /// Reads a message into its receive. A message that is too long is read and dropped.
    std::optional<fault> read_into(transfer& receive, const wire::frame_header& h) noexcept;

    void begin_reading(const wire::frame_header& h, mutable_byte_view content) noexcept;

    std::optional<fault> begin_part(const wire::frame_header& h, std::int64_t size) noexcept;

    void read_part(const wire::frame_header& h, std::size_t size) noexcept;

    std::size_t part() const noexcept { return static_cast<std::size_t>(terms_.part); }

    void take_staged() noexcept;

    std::optional<fault> finish();

    int peer_;
    link_terms terms_;
    match_table* board_;
    std::uint64_t* activity_;

    ring_queue<outgoing_frame> queue_;
    std::vector<byte_view> output_;
    std::size_t written_ = 0;                   // bytes of the frames in the queue
    std::uint64_t sent_ = 0;                    // frames sent
    std::int64_t credit_;                       // bytes that the peer has room for
    std::vector<announced_message> announced_;  // sends that wait for the peer's ready
    std::uint64_t announcements_sent_ = 0;

    std::int64_t allowance_;                   // bytes that the peer may still send without a
                                               // receive
    std::int64_t owed_ = 0;                    // credit that is not given back yet
    std::vector<announced_message> expected_;  // receives whose messages were requested
    std::uint64_t announcements_received_ = 0;
    std::size_t announcements_open_ = 0;
    std::uint64_t received_ = 0;  // frames received
    bytes staged_;                // bytes that were read behind a message
    std::size_t staged_begin_ = 0, staged_end_ = 0;
    bool halted_ = false;
    int asked_ = 0;               // calls since it halted
    int tries_ = 0;               // those since a transfer ended,
    std::uint64_t tried_at_ = 0;  // at this activity
    bool reading_ = false;        // a part of a message is incomplete
    std::size_t lacking_ = 0;
    std::size_t rest_ = 0;       // bytes of its message behind this part
    mutable_byte_view content_;  //   memory  of the message; empty if it is dropped
    std::size_t filled_ = 0, part_begin_ = 0;
    std::uint64_t digest_ = 0;
    transfer* receive_ = nullptr;  // receive that it is for, or null
    arrival* arrival_ = nullptr;   // or where it is kept
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/framed_connection.ipp"
#endif
