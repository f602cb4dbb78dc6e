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

/// One end of a connection that carries messages, without input or output: bytes to write are
/// asked for and bytes that were read are handed in, whoever moves them.
///
/// A message goes at once while the receiver has room for it, whether or not it waits for it; the
/// room is a budget, and what is taken of it is given back as messages find their receives. A
/// message beyond it is announced and goes when its receive is there. So memory is bounded, no
/// order of receives can block, and what is received in time goes straight to where it is wanted.
///   wire    frames of message, announce, ready, granted, credit and part, see
///           wire/detail/protocols/frame.hpp
///   cost    64 bytes a message, or a part of it, and a pass of a digest at each end; no copy but
///           of what arrives together with its header (`staging` at most) or before its receive
///   errors  `received` returns a fault where bytes do not follow the protocol: nothing of that
///           frame takes effect, and the link is of no use afterwards
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

    /// Gives a message of the peer, which the board had kept, to a receive.
    void hand_over(arrival& from, transfer& to);

    // Out

    bool has_output() const noexcept { return !queue_.empty(); }

    /// Bytes to write, in this order; valid until `written` or another call that is not const. No
    /// more than fit into a second-level cache, so that they are there when they are copied after
    /// their digest was computed.
    std::span<const byte_view> output();

    /// So many of these bytes are on their way.
    void written(std::size_t count) noexcept;

    // In

    /// Where to put bytes that are read: first what a message still lacks, then what follows it.
    /// After a long message another may come: only its header is read along, so that the rest goes
    /// straight to where it is wanted.
    std::array<mutable_byte_view, 2> input() noexcept;

    /// So many bytes were put there. Before a message that no receive waits for, of more bytes than
    /// it `keeps`, it halts, and what follows stays where it is: who posts its receive soon saves a
    /// copy. Asked often, and less often while no transfer ends, it keeps that message after all:
    /// what is behind it may be waited for.
    std::optional<fault> received(std::size_t count, std::int64_t keeps = keeps_all);

    /// The connection is no more: calls with each receive that its bytes were to fill.
    template <class Visitor>
    void abandon(Visitor&& unfilled) {
        if (arrival* const coming = std::exchange(arrival_, nullptr)) {
            if (coming->claimed_by) unfilled(*coming->claimed_by);
            board_->release(*coming);
        }
        if (transfer* const receive = std::exchange(receive_, nullptr)) unfilled(*receive);
        for (const announced_message& m : std::exchange(expected_, {})) {
            board_->forget(peer_, m.of->label);  // it came after what does not come any more
            unfilled(*m.of);
        }
        board_->forget_announced(peer_);
    }

    /// Whether something of the peer's is awaited that no receive waits for: its leave to send.
    bool awaits_peer() const noexcept { return !announced_.empty(); }

    /// Whether it has to be asked again, by `received(0)`, before more is read.
    bool halted() const noexcept { return halted_; }

    /// Whether the stream may end here.
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

    /// For one more, so that what comes after it cannot fail.
    static void make_room(std::vector<announced_message>& in);

    static std::int64_t charge_of(std::int64_t size) noexcept { return size + overhead; }

    void push(wire::frame_type type, transfer* about, std::uint64_t announcement = 0);

    /// Writes a frame's header: its place in the stream, and what credit there is to give back.
    void seal(outgoing_frame& frame) noexcept;

    bool lacks_content(byte_view payload) const noexcept;
    bool lacks_content(const wire::frame_header& h) const noexcept;

    /// A message found its receive.
    void give_back(std::int64_t size);

    /// A receive for a message that waits at the peer.
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

    /// What is too long for its receive is read, and dropped.
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
    std::size_t written_ = 0;                   // of the frames in the queue
    std::uint64_t sent_ = 0;                    // frames
    std::int64_t credit_;                       // bytes that the peer has room for
    std::vector<announced_message> announced_;  // sends that wait until the peer is ready
    std::uint64_t announcements_sent_ = 0;

    std::int64_t allowance_;                   // bytes that the peer may send unasked
    std::int64_t owed_ = 0;                    // of what it sent: not given back yet
    std::vector<announced_message> expected_;  // receives whose messages may come
    std::uint64_t announcements_received_ = 0;
    std::size_t announcements_open_ = 0;
    std::uint64_t received_ = 0;  // frames
    bytes staged_;                // what was read behind a message
    std::size_t staged_begin_ = 0, staged_end_ = 0;
    bool halted_ = false;
    int asked_ = 0;               // since it halted
    int tries_ = 0;               // of these since a transfer ended,
    std::uint64_t tried_at_ = 0;  // at this activity
    bool reading_ = false;        // a part of a message, which lacks
    std::size_t lacking_ = 0;
    std::size_t rest_ = 0;       // bytes of its message behind this part
    mutable_byte_view content_;  // the message's; empty if it is dropped
    std::size_t filled_ = 0, part_begin_ = 0;
    std::uint64_t digest_ = 0;
    transfer* receive_ = nullptr;  // either that it is for
    arrival* arrival_ = nullptr;   // or where it is kept
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/framed_connection.ipp"
#endif
