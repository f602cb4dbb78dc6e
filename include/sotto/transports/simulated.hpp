#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/simulated/simulated_network.hpp"
#include "sotto/transports/detail/simulated/virtual_time.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/packet_transport.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::simulation {

/// One rank's view of a simulated network.
class library {
public:
    using operation = time_point;  // completion time
    struct packet {
        int source = 0;
        std::size_t size = 0;
        network::place at = 0;
    };

    static constexpr const char* name = "simulated";
    static constexpr bool drains = false;
    static constexpr bool may_lack_content = true;
    static constexpr bool copies = true;

    library(network& among, int rank) : among_(&among), rank_(rank) {}
    library(const library&) = delete;
    library& operator=(const library&) = delete;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return among_->size(); }
    std::size_t packet_bytes_max() const noexcept;

    operation send(int to, net::packet_kind kind, byte_view out);
    std::optional<packet> next(net::packet_kind kind);
    operation receive(const packet& came, mutable_byte_view in) noexcept;
    /// Drops a packet that will not be received.
    void forget(const packet& came) noexcept { among_->release(came.at); }
    bool complete(const operation& in_flight) const noexcept;
    bool advance() const noexcept { return false; }
    bool busy() const noexcept { return false; }

    time_point now() const noexcept { return among_->time().now(); }
    void charge(work amount) { among_->compute(rank_, amount); }
    void asked_in_vain();
    void pause(duration, bool, time_point until);
    std::optional<net::packet_loss> next_loss() { return among_->next_loss(rank_); }
    std::optional<int> next_arrival() { return among_->next_arrival(rank_); }
    void served_by(std::function<bool()> serve);

    std::uint64_t life() const noexcept { return among_->life_of(rank_); }
    std::string network_text() const { return describe(among_->options()); }

    void require_caller() const;
    void end_job(std::string_view why) noexcept;

private:
    static constexpr operation gone = (operation::min)();
    // A collective polls after each of its messages and then waits. If each poll slept, most turns
    // of ranks would only pass a moment. An arrival wakes a rank that only polls.
    static constexpr int asked_at_once = 256;

    virtual_time& time() noexcept { return among_->time(); }
    bool is_killed() const noexcept { return among_->time().is_killed(rank_); }
    duration period() const noexcept;

    network* among_;
    int rank_;
    int asked_ = 0;  // polls without success since the last wait
};

static_assert(net::packet_library<library>);

}  // namespace sotto::detail::simulation

namespace sotto {

/// Transport between ranks of a simulated network. It uses the same frames, votes and failure
/// reports as between processes. Its virtual time passes by computing and sending.
///
/// All ranks are fibers of the calling thread. One runs at a time, so a seed fixes everything that
/// happens: see virtual_time and fiber. `charge` lets the time of a computation pass; computing
/// without it takes no time. Memory from `size_only` can be sent and received, and costs the time
/// and the bytes of real memory.
///   wire    as packet_transport; a packet is up to simulated_options::packet bytes
///   cost    3 to 15 us a message, most if no cache holds the states of all ranks. 1,000 ranks take
///           1.1 GB once they have voted. Their dense step of 25 million weights without content, 2
///           million messages, takes about 30 s
///   errors  as tcp
class simulated : public detail::net::packet_transport<detail::simulation::library> {
    using base = detail::net::packet_transport<detail::simulation::library>;

public:
    /// Endpoint of one rank, as run_simulated makes it.
    simulated(detail::simulation::network& among, int rank)
        : base(detail::simulation::packet_options_of(among.options()), among, rank) {}

    /// Number of this rank's process: 1, and one more after every restart.
    std::uint64_t life() { return library().life(); }

    /// Description of the simulated network, to print next to its times.
    std::string simulated_network() const { return library().network_text(); }

    /// Bytes of messages from a rank that wait here for their receive: at most the budget.
    std::int64_t queued_bytes(int from) const noexcept { return exchange().queued_from(from); }

    /// First failed rank that this rank knows of; nothing if it knows of none.
    std::optional<int> first_failed() const noexcept;

    /// Number of transfers that were started and whose completion was not requested.
    std::size_t open_transfers() const noexcept { return exchange().in_use(); }
};

static_assert(detail::ballot_transport<simulated> && tolerant_transport<simulated>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated.ipp"
#endif
