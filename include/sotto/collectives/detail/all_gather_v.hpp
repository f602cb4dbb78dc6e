#pragma once

#include <cstdint>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/route.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

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
    /// `has_content`: else blocks are only sizes, as `size_only` makes them.
    all_gather_v(transport_ref through, std::int64_t bytes_max, route way = route::automatic,
                 bool has_content = true);

    /// What a block may have at most.
    std::int64_t bytes_max() const noexcept { return bytes_max_; }

    /// `own` stays the caller's, unchanged, until the operation is complete.
    void start(byte_view own, tag label);

    bool advance();

    /// Whether a rank's block is there, and the block: valid until the next start.
    bool arrived(int rank) const noexcept;
    /// The block of a rank whose block is there; valid until the next start.
    byte_view block_of(int rank) const noexcept;

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
        stream(transport_ref through, int other, int first, int blocks, int messages_max);

        bool all_moved() const noexcept { return done == count; }
        bool is_complete() const noexcept { return all_moved() && messages.empty(); }
        int hop() const noexcept { return first_hop + done; }

        void restart() noexcept { moved = done = 0; }
        void count_in(std::int64_t size, std::int64_t bytes_max) noexcept;

        int peer;
        int first_hop;
        int count;
        int done;                // blocks
        std::int64_t moved = 0;  // bytes of the next one
        flight messages;
    };

    void receive_next(stream& from);

    void receive_what_came(stream& from);

    void send_what_is_here(stream& to);

    bool complete() const noexcept;

    /// The rank so many places further around the ring.
    int rank_at(int places) const noexcept { return (rank_ + places + world_) % world_; }

    const block& block_at(int rank) const noexcept;
    block& block_behind(int hop) noexcept;

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

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/all_gather_v.ipp"
#endif
