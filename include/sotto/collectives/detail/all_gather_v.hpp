#pragma once

#include <cstdint>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/route.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// True if blocks of at most `bytes_max` bytes travel around the ring.
constexpr bool goes_around_ring(std::int64_t bytes_max, route way = route::automatic) noexcept {
    return way == route::ring || (way == route::automatic && bytes_max > 32768);
}

/// Gathers bytes of every rank on every rank. Lengths may differ and need not be known beforehand;
/// only a bound is needed.
///
/// A block can be read as soon as it is here, in the order 0, 1, 2, ... if needed, while others
/// still travel. Blocks that the transport's own collective gathers arrive all at once.
///   shape   bytes_max bounds every block and is the same on all ranks; N-1 such blocks are kept
///   wire    a block in messages of 256 KiB, unchanged. A block ends with its first shorter
///           message, which may be empty, or with byte number bytes_max. So a rank forwards a block
///           while it still arrives, and no link of a ring is idle between two blocks
///   cost    sent and received: (N-1)/N of all blocks together, on either route. direct: 1 step;
///           ring: N-1 steps, but never two senders on one receiver's link at a time. automatic:
///           the ring if bytes_max is above 32 KiB, which takes 0.25 ms at 1 Gbit/s. From there on,
///           links that collide cost more than a step's latency. The bound fixes the route for all
///           rounds. So after a DGC warm-up with long messages, short messages still use the ring,
///           at N-1 latencies a round
///   errors  start throws invalid_option: more than bytes_max; std::logic_error: started before it
///           was complete
class all_gather_v {
public:
    /// If `has_content` is false, blocks are only sizes, as `size_only` makes them.
    all_gather_v(transport_ref through, std::int64_t bytes_max, route way = route::automatic,
                 bool has_content = true);

    /// Maximum size of a block.
    std::int64_t bytes_max() const noexcept { return bytes_max_; }

    /// Starts gathering. `own` stays the caller's, unchanged, until the operation is complete.
    void start(byte_view own, tag label);

    bool advance();

    /// True if the block of a rank is complete here.
    bool arrived(int rank) const noexcept;
    /// Block of a rank for which `arrived` is true; valid until the next start.
    byte_view block_of(int rank) const noexcept;

private:
    static constexpr std::int64_t message_max = 262144;
    /// Messages in flight to a rank that is the only target, or one of many. Enough that this
    /// rank's link always has something to send, and less than the receiver accepts before its
    /// receives are posted.
    static constexpr int sends_to_one = 8, sends_to_each = 2;

    struct block {
        bytes memory;
        mutable_byte_view room;  // empty for this rank's own block
        byte_view content;       // bytes that are here so far
        bool is_here = false;
    };

    /// Consecutive blocks received from a rank or sent to one. They belong to the ranks
    /// `first_hop`, `first_hop` + 1, ... places behind this rank.
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
        int done;                // complete blocks
        std::int64_t moved = 0;  // bytes of the next block
        flight messages;
    };

    void receive_next(stream& from);

    void receive_what_came(stream& from);

    void send_what_is_here(stream& to);

    bool complete() const noexcept;

    /// Rank that many places further around the ring.
    int rank_at(int places) const noexcept { return (rank_ + places + world_) % world_; }

    const block& block_at(int rank) const noexcept;
    block& block_behind(int hop) noexcept;

    transport_ref through_;
    std::int64_t bytes_max_;
    int world_;
    int rank_;
    tag label_;
    std::vector<block> blocks_;
    std::vector<stream> incoming_;  // last: transfers end before the blocks are freed
    std::vector<stream> outgoing_;
    native_collective native_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/all_gather_v.ipp"
#endif
