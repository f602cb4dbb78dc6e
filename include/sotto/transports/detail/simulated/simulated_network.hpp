#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/detail/simulated/simulated_parts.hpp"
#include "sotto/transports/detail/simulated/virtual_time.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/simulated_trace.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::simulation {

/// Network between simulated ranks: lines with limited bandwidth, and their faults.
///
/// A packet waits until earlier packets have left its sender's line. It travels, and waits until
/// earlier packets have arrived on its receiver's line: as through a switch with room for
/// everything.
///   math    out(p) = max(now, end of out before) + size / out bandwidth; head(p) = begin of out(p)
///           + both latencies; in(p) = max(head(p), end of in before) + size / in bandwidth, not
///           before the last byte can be there. Times are whole nanoseconds
///   cost    3 happenings a packet; its content is copied when it is sent and when it is received
class network final : public happening {
public:
    network(virtual_time& time, int ranks, const simulated_options& options);

    int size() const noexcept { return static_cast<int>(hosts_.size()); }
    virtual_time& time() noexcept { return *time_; }
    const virtual_time& time() const noexcept { return *time_; }
    const simulated_options& options() const noexcept { return options_; }
    simulated_trace& trace() noexcept { return trace_; }

    // For the ranks' libraries

    using place = packet::place;

    /// Connects the system of a rank, which works while the rank computes. It calls `serve` every
    /// `period`, and when a membership packet arrives or a connection is lost. If `serve` returns
    /// true, the rank is woken.
    void connect(int rank, duration period, std::function<bool()> serve);

    /// The rank receives nothing more.
    void disconnect(int rank) noexcept { of(rank).serve = nullptr; }

    /// The rank's code has ended.
    void end(int rank);

    /// Sends a packet. Returns the time at which its last byte will have left.
    time_point send(int from, int to, packet_kind kind, byte_view content);

    std::optional<place> next(int rank, packet_kind kind) noexcept;
    int source(place at) const noexcept { return packets_[at].from; }
    std::size_t size_of(place at) const noexcept { return packets_[at].size; }

    void receive(place at, mutable_byte_view in) noexcept;

    /// Frees an arrived packet that is not needed any more.
    void release(place at) noexcept;

    std::optional<net::packet_loss> next_loss(int rank);

    std::optional<int> next_arrival(int rank);

    /// Time at which the process of an ended rank is restarted, if it is.
    std::optional<time_point> restart_of(int rank) const;

    /// Number of the rank's process.
    std::uint64_t life_of(int rank) const noexcept { return hosts_[index_of(rank)].life; }

    /// Lets the time pass that a rank needs for some work.
    void compute(int rank, work amount);

    /// Number of packets that were not received or dropped.
    std::int64_t packets_under_way() const noexcept;
    /// Room for packets: the maximum in flight at once.
    std::int64_t packets_room() const noexcept;
    /// Number of ranks whose code ended while their system was still connected.
    std::int64_t left_connected() const noexcept { return left_connected_; }

    // Events

    void happen(std::uint64_t what) override;

private:
    enum class step : std::uint8_t { left, head, arrived, serve, fault, heal, lost, came };

    using way_between = std::pair<int, int>;

    /// Number of the process that a rank believes another one to be.
    std::uint64_t known_life(int rank, int peer) noexcept;
    /// Number of a rank's process. A process that has not begun yet is the first.
    std::uint64_t present_life(int rank) noexcept;
    bool has_ended(int rank) noexcept { return of(rank).life > 0 && !of(rank).serve; }

    static std::uint64_t number(std::size_t index, step what) noexcept;
    static std::size_t index_of(int rank) noexcept { return static_cast<std::size_t>(rank); }

    static duration seconds(double s) noexcept;

    host& of(int rank) noexcept { return hosts_[index_of(rank)]; }

    void note(simulated_event::kind what, int rank, int peer, std::int64_t size);

    place take();

    trouble* trouble_of(int from, int to) noexcept;

    duration way(int from, int to) noexcept { return of(from).line.latency + of(to).line.latency; }

    // Packets

    void come_in(place at);

    void pass(place at);

    void drop(place at);

    void arrive(place at);

    /// True if a rank does not know yet that a peer is a new process. A rank that hangs learns it
    /// late. Packets of the new process must not be taken for those of the old one.
    static bool is_to_hear_of(const host& rank, int peer) noexcept;
    void let_in(host& receiver, int peer);

    /// Notifies a rank of an arrival. If it is about the membership, the rank's system handles it
    /// at once.
    void tell_system(int rank, bool is_membership);

    void serve_again(int rank);

    void serve_at(int rank, time_point when);

    // Faults

    trouble& make_trouble(int from, int to) { return troubles_[{from, to}]; }

    void begin_fault(const network_fault& f);

    void cut(int one, int other);

    void heal(way_between which);

    /// Applies the next fault of this way to a packet.
    void harm(packet& p);

    /// Ends a process. Bytes that have not left its machine never will.
    void die(int rank, bool others_are_told);

    void tell_lost(int rank, int peer, const char* how);

    /// Replaces the previous process of a rank by a new one. Nothing of the previous one is left,
    /// and the others are notified.
    void succeed(int rank);

    void empty_inbox(host& of_rank) noexcept;

    void come(const coming& c);

    void lose(const breaking& b);

    static constexpr time_point never = (time_point::max)();
    static constexpr double longest_work = 1e9;  // seconds: times are nanoseconds in 63 bits

    virtual_time* time_;
    simulated_options options_;
    random_stream random_;
    simulated_trace trace_;
    std::deque<host> hosts_;
    std::deque<packet> packets_;
    std::vector<place> free_;
    std::map<way_between, trouble> troubles_;
    std::vector<way_between> troubled_;  // ways with partitions, in the order of their start
    std::vector<breaking> breakings_;
    std::vector<coming> comings_;
    std::int64_t left_connected_ = 0;
};

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/simulated/simulated_network.ipp"
#endif
