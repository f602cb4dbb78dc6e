#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/contentless.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// How gathered bytes travel: straight from everyone to everyone, or from neighbour to neighbour
/// around a ring. Automatic: by the transport's own collective, where it has one; else by whichever
/// suits their size.
///   automatic  by the transport's own collective, where it has one; else as goes_around_ring says
///   direct     from everyone to everyone
///   ring       from neighbour to neighbour
enum class route : std::uint8_t { automatic, direct, ring };

/// Which of the two blocks of at most so many bytes take.
constexpr bool goes_around_ring(std::int64_t bytes_max, route way = route::automatic) noexcept {
    return way == route::ring || (way == route::automatic && bytes_max > 32768);
}

/// Gathers bytes of every rank on every rank. Lengths may differ and need not be known beforehand,
/// only a bound.
///
/// Blocks can be read as soon as they are there, in the order 0, 1, 2, ... if need be, while others
/// still travel; those that the transport's own collective gathers come all at once.
///   shape   bytes_max, the same on all ranks, bounds every block; N-1 such blocks are kept
///   wire    a block in messages of 256 KiB, as it is; it ends with its first shorter one, which
///           may be empty, or with byte number bytes_max. So a block goes on to the next rank while
///           it still comes, and no link of a ring is idle between two blocks
///   cost    sent and received: (N-1)/N of all blocks together, either way. direct: 1 step; ring:
///           N-1, but never two senders on one receiver's link at a time. automatic: the ring if
///           bytes_max is above 32 KiB, which takes 0.25 ms at 1 Gbit/s, so that a step's latency
///           matters less than links that collide. The route is settled with the bound, for all
///           rounds: after a warm-up of DGC, in which messages are long, short ones go on around
///           the ring, N-1 latencies a round
///   errors  start throws invalid_option: more than bytes_max; std::logic_error: started before it
///           was complete
class all_gather_v {
public:
    /// `has_content`: else blocks are only sizes, as `without_content` makes them.
    all_gather_v(transport_ref through, std::int64_t bytes_max, route way = route::automatic,
                 bool has_content = true)
        : through_(through), bytes_max_(bytes_max), world_(through.size()), rank_(through.rank()) {
        if (bytes_max < 0)
            throw invalid_option("all_gather: blocks of at most " + std::to_string(bytes_max) +
                                 " bytes");
        {
            if (way == route::automatic && has_content)
                native_ = through.native_all_gather(bytes_max);
            if (native_) return;
        }
        blocks_.resize(static_cast<std::size_t>(world_));
        const auto room = static_cast<std::size_t>(bytes_max);
        for (int hop = 1; hop < world_; ++hop) {
            block& b = block_behind(hop);
            if (has_content) b.memory.resize(room);
            b.room = has_content ? mutable_byte_view(b.memory) : without_content<std::byte>(room);
        }
        const bool around = goes_around_ring(bytes_max, way);
        const int streams = around ? (std::min)(world_ - 1, 1) : world_ - 1;
        const int blocks = around ? world_ - 1 : 1;
        const int sends = around ? sends_to_one : sends_to_each;
        incoming_.reserve(static_cast<std::size_t>(streams));
        outgoing_.reserve(static_cast<std::size_t>(streams));
        for (int hop = 1; hop <= streams; ++hop) {
            incoming_.emplace_back(through, rank_at(-hop), hop, blocks, 1);
            outgoing_.emplace_back(through, rank_at(hop), 0, blocks, sends);
        }
        through.reserve(std::int64_t{streams} * (1 + sends));
    }

    /// What a block may have at most.
    std::int64_t bytes_max() const noexcept { return bytes_max_; }

    /// `own` stays the caller's, unchanged, until the operation is complete.
    void start(byte_view own, tag label) {
        if (!complete()) throw std::logic_error("all_gather: started before it was complete");
        if (static_cast<std::int64_t>(own.size()) > bytes_max_)
            throw invalid_option("all_gather: a block of " + std::to_string(own.size()) +
                                 " bytes, but bound for at most " + std::to_string(bytes_max_));
        
            if (native_) return native_.start(own);
        label_ = label;
        for (block& b : blocks_) {
            b.content = {};
            b.is_here = false;
        }
        block_behind(0).content = own;
        block_behind(0).is_here = true;
        for (stream& from : incoming_) {
            from.restart();
            receive_next(from);
        }
        for (stream& to : outgoing_) to.restart();
        advance();
    }

    bool advance() {
        
            if (native_) return native_.advance();
        for (stream& from : incoming_) receive_what_came(from);
        for (stream& to : outgoing_) send_what_is_here(to);
        return complete();
    }

    /// Whether a rank's block is there, and the block: valid until the next start.
    bool arrived(int rank) const noexcept {
        
            if (native_) return native_.complete();
        return block_at(rank).is_here;
    }
    /// The block of a rank whose block is there; valid until the next start.
    byte_view block_of(int rank) const noexcept {
        
            if (native_) return native_.block_of(rank);
        return block_at(rank).content;
    }

private:
    static constexpr std::int64_t message_max = 262144;
    /// Messages under way to a rank, alone or as one of many: enough that this rank's link always
    /// has something to send, and less than the other takes unasked.
    static constexpr int sends_to_one = 8, sends_to_each = 2;

    struct block {
        bytes memory;
        mutable_byte_view room;  // none for this rank's own
        byte_view content;       // as far as it is here
        bool is_here = false;
    };

    /// Blocks that come from a rank, or go to one, one after the other: those of the ranks
    /// `first_hop`, `first_hop` + 1, ... places behind this one.
    struct stream {
        stream(transport_ref through, int other, int first, int blocks, int messages_max)
            : peer(other),
              first_hop(first),
              count(blocks),
              done(blocks),
              messages(through, static_cast<std::size_t>(messages_max)) {}

        bool all_moved() const noexcept { return done == count; }
        bool is_complete() const noexcept { return all_moved() && messages.empty(); }
        int hop() const noexcept { return first_hop + done; }

        void restart() noexcept { moved = done = 0; }
        void count_in(std::int64_t size, std::int64_t bytes_max) noexcept {
            moved += size;
            if (size == message_max && moved < bytes_max) return;
            moved = 0;
            ++done;
        }

        int peer;
        int first_hop;
        int count;
        int done;                // blocks
        std::int64_t moved = 0;  // bytes of the next one
        flight messages;
    };

    void receive_next(stream& from) {
        const auto size = (std::min)(message_max, bytes_max_ - from.moved);
        const mutable_byte_view room = block_behind(from.hop()).room;
        from.messages.push(through_.receive(
            from.peer, label_,
            room.subspan(static_cast<std::size_t>(from.moved), static_cast<std::size_t>(size))));
    }

    void receive_what_came(stream& from) {
        while (const auto ended = from.messages.pop_complete()) {
            block& b = block_behind(from.hop());
            const int before = from.done;
            b.content =
                byte_view(b.room).first(static_cast<std::size_t>(from.moved + ended->bytes));
            from.count_in(ended->bytes, bytes_max_);
            b.is_here = from.done > before;
            if (!from.all_moved()) receive_next(from);
        }
    }

    void send_what_is_here(stream& to) {
        while (to.messages.pop_complete()) {}
        while (!to.all_moved() && !to.messages.full()) {
            const block& b = block_behind(to.hop());
            const byte_view rest = b.content.subspan(static_cast<std::size_t>(to.moved));
            const byte_view message =
                rest.first((std::min)(rest.size(), static_cast<std::size_t>(message_max)));
            const auto size = static_cast<std::int64_t>(message.size());
            if (size < message_max && !b.is_here) break;
            to.messages.push(through_.send(to.peer, label_, message));
            to.count_in(size, bytes_max_);
        }
    }

    bool complete() const noexcept {
        
            if (native_) return native_.complete();
        const auto is_complete = [](const stream& s) { return s.is_complete(); };
        return std::all_of(incoming_.begin(), incoming_.end(), is_complete) &&
               std::all_of(outgoing_.begin(), outgoing_.end(), is_complete);
    }

    /// The rank so many places further around the ring.
    int rank_at(int places) const noexcept { return (rank_ + places + world_) % world_; }

    const block& block_at(int rank) const noexcept {
        return blocks_[static_cast<std::size_t>(rank)];
    }
    block& block_behind(int hop) noexcept {
        return blocks_[static_cast<std::size_t>(rank_at(-hop))];
    }

    transport_ref through_;
    std::int64_t bytes_max_;
    int world_;
    int rank_;
    tag label_;
    std::vector<block> blocks_;
    std::vector<stream> incoming_;  // last: they are ended before the blocks go
    std::vector<stream> outgoing_;
    native_collective native_;
};

/// Gathers by all_gather_v: for messages that cannot be summed as they are.
struct all_gather {
    static constexpr bool sums = false;
    route way = route::automatic;  // how they travel

    void describe(auto&& field) const { field("way", way); }

    auto bind(transport_ref through, std::int64_t bytes_max) const {
        return all_gather_v(through, bytes_max, way);
    }
};

}  // namespace sotto::detail::collectives
