#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/flight.hpp"
#include "sotto/collectives/native.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::collectives {

/// How gathered bytes travel: straight from everyone to everyone, or from neighbour to neighbour
/// around a ring. Automatic: by the transport's own collective, where it has one; else by whichever
/// suits their size.
enum class route : std::uint8_t { automatic, direct, ring };

/// Gathers bytes of every rank on every rank. Lengths may differ and need not be known beforehand,
/// only a bound.
///
/// Blocks can be read as soon as they are there, in the order 0, 1, 2, ... if need be, while others
/// still travel; those that the transport's own collective gathers come all at once.
///   shape   bytes_max, the same on all ranks, bounds every block; N-1 such blocks are kept
///   wire    a block a message, as it is
///   cost    sent and received: (N-1)/N of all blocks together, either way. direct: 1 step; ring:
///           N-1, but never two senders on one receiver's link at a time. automatic: the ring if
///           bytes_max is above 32 KiB, which takes 0.25 ms at 1 Gbit/s, so that a step's latency
///           matters less than links that collide
///   errors  start throws invalid_option: more than bytes_max; std::logic_error: started before it
///           was complete
template <transport Transport>
class all_gather_v {
public:
    all_gather_v(Transport& through, std::int64_t bytes_max, route way = route::automatic)
        : through_(&through),
          bytes_max_(bytes_max),
          world_(through.size()),
          rank_(through.rank()),
          around_(way == route::ring || (way == route::automatic && bytes_max > 32768)),
          sends_(through, static_cast<std::size_t>(world_)) {
        if (bytes_max < 0)
            throw invalid_option("all_gather: blocks of at most " + std::to_string(bytes_max) +
                                 " bytes");
        if constexpr (native_transport<Transport>) {
            if (way == route::automatic) native_ = {through, through.native_all_gather(bytes_max)};
            if (native_) return;
        }
        blocks_.reserve(static_cast<std::size_t>(world_));
        for (int rank = 0; rank < world_; ++rank) {
            blocks_.emplace_back(through);
            if (rank != rank_) block_at(rank).room.resize(static_cast<std::size_t>(bytes_max));
        }
        through.reserve(2 * std::int64_t{world_});
    }

    std::int64_t bytes_max() const noexcept { return bytes_max_; }

    /// `own` stays the caller's, unchanged, until the operation is complete.
    void start(byte_view own, tag label) {
        if (!complete()) throw std::logic_error("all_gather: started before it was complete");
        if (static_cast<std::int64_t>(own.size()) > bytes_max_)
            throw invalid_option("all_gather: a block of " + std::to_string(own.size()) +
                                 " bytes, but bound for at most " + std::to_string(bytes_max_));
        if constexpr (native_transport<Transport>)
            if (native_) return native_->start(own);
        label_ = label;
        block_at(rank_).content = own;
        missing_ = world_ - 1;
        for (int hop = 1; hop < world_; ++hop) {
            block& b = block_at(rank_at(-hop));
            b.incoming.push(through_->receive(rank_at(around_ ? -1 : -hop), label_, b.room));
        }
        const int direct_hops = around_ ? std::min(world_ - 1, 1) : world_ - 1;
        for (int hop = 1; hop <= direct_hops; ++hop)
            sends_.push(through_->send(rank_at(hop), label_, own));
        advance();
    }

    bool advance() {
        if constexpr (native_transport<Transport>)
            if (native_) return native_->advance();
        for (int hop = 1; hop < world_ && missing_ > 0; ++hop) {
            block& b = block_at(rank_at(-hop));
            const auto ended = b.incoming.pop_complete();
            if (!ended) {
                if (around_ && !b.incoming.empty()) break;  // what goes on goes on in order
                continue;
            }
            --missing_;
            b.content = byte_view(b.room).first(static_cast<std::size_t>(ended->bytes));
            if (around_ && hop < world_ - 1)
                sends_.push(through_->send(rank_at(1), label_, b.content));
        }
        while (sends_.pop_complete()) {}
        return complete();
    }

    /// Whether a rank's block is there, and the block: valid until the next start.
    bool arrived(int rank) const noexcept {
        if constexpr (native_transport<Transport>)
            if (native_) return native_->complete();
        return block_at(rank).incoming.empty();
    }
    byte_view block_of(int rank) const noexcept {
        if constexpr (native_transport<Transport>)
            if (native_) return native_->block_of(rank);
        return block_at(rank).content;
    }

private:
    struct block {
        explicit block(Transport& through) : incoming(through, 1) {}

        bytes room;
        byte_view content;
        flight<Transport> incoming;  // last: it is ended before the room goes
    };

    bool complete() const noexcept {
        if constexpr (native_transport<Transport>)
            if (native_) return native_->complete();
        return missing_ == 0 && sends_.empty();
    }

    /// The rank so many places further around the ring.
    int rank_at(int places) const noexcept { return (rank_ + places + world_) % world_; }

    block& block_at(int rank) noexcept { return blocks_[static_cast<std::size_t>(rank)]; }
    const block& block_at(int rank) const noexcept {
        return blocks_[static_cast<std::size_t>(rank)];
    }

    Transport* through_;
    std::int64_t bytes_max_;
    int world_;
    int rank_;
    bool around_;
    int missing_ = 0;
    tag label_;
    std::vector<block> blocks_;
    flight<Transport> sends_;  // last: they are ended before the blocks go
    typename natives_of<Transport>::all_gather native_;
};

/// Gathers by all_gather_v: for messages that cannot be summed as they are.
struct all_gather {
    static constexpr bool sums = false;
    route way = route::automatic;

    void describe(auto&& field) const { field("way", way); }

    template <transport Transport>
    auto bind(Transport& through, std::int64_t bytes_max) const {
        return all_gather_v<Transport>(through, bytes_max, way);
    }
};

}  // namespace sotto::collectives
