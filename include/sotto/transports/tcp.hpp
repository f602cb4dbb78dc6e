#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/placement.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

// Compiled mode does not include Boost.Asio here.
class tcp_rendezvous;
class tcp_join;
class tcp_rank;

}  // namespace sotto::detail::net

namespace sotto {

/// Transport between processes over TCP.
///
/// The thread that uses the transport moves messages while it is inside a call, directly between
/// the lent memory and the system. Data in the system's buffers travels while the thread computes.
/// A separate thread with separate connections sends a sign of life four times a second and
/// receives those of others. All other ranks notice a killed rank immediately, and a rank that
/// hangs after tcp_options::dead_after. They keep their ranks and throw peer_failure, which names
/// the first rank that failed.
///   wire    tcp_join: how ranks meet; framed_connection: messages; membership: the rest
///   memory  for each other rank 64 KiB and what it sent before its receive: in blocks of powers of
///           two, so up to twice tcp_options::budget; 8 MiB of such blocks are kept
///   cost    a message of a few bytes takes two system calls at each end
///   errors  as in_process. A send may complete before it is received, so a later call reports a
///           failure at the receiver
class tcp {
public:
    /// See transport.
    using ballot = detail::net::membership::ballot;

    /// Joins the other ranks. Returns once all ranks are there.
    ///   errors  as tcp_join
    static tcp join(const tcp_options& options) { return meeting(options).join(); }

    /// The same for a rank that a launcher has placed.
    static tcp join(const placement& place) { return join(tcp_options::at(place)); }

    /// A port that is open before the other ranks know it: for rank 0 if the system chooses the
    /// port.
    class meeting {
    public:
        /// Opens the port, or starts to.
        explicit meeting(const tcp_options& options);
        /// A moved-from meeting is over, as after join().
        meeting(meeting&&) noexcept;
        meeting& operator=(meeting&&) noexcept;  ///< See above.
        ~meeting();                              ///< Closes the port, unless the ranks have met.

        /// Number of the port.
        std::uint16_t port();

        /// Joins; call it once. Afterwards no rank listens on the port, except in an elastic job.
        tcp join();

    private:
        void require_open() const;

        tcp_options options_;
        std::unique_ptr<detail::net::tcp_join> joining_;
        std::unique_ptr<detail::net::tcp_rendezvous> gathering_;  // used instead in an elastic job
    };

    tcp(const tcp&) = delete;
    tcp& operator=(const tcp&) = delete;
    /// Leaves the job. Sent messages still arrive: it waits for this while their receivers live, up
    /// to tcp_options::timeout. If an exception unwinds, it notifies the others that this rank
    /// failed. In a child of fork() it closes the child's descriptors and sends nothing: the rank
    /// is the parent's.
    ~tcp();

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }

    request send(int to, tag label, byte_view out);

    request receive(int from, tag label, mutable_byte_view in);

    std::optional<completion> poll(request r);

    completion wait(request r);

    std::uint64_t activity() const noexcept;

    void await(std::uint64_t seen);

    bool agree(bool vote);

    /// Opens a vote of some ranks, ascending and with this one among them. The vote is as atomic as
    /// that of all ranks. Groups use it.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    bool agree(ballot& among, bool vote);

    void withdraw() noexcept;

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept;

    [[noreturn]] void blame(int rank, const std::string& cause, errc code);

    /// See tolerant_transport. Without tcp_options::elastic a rank that failed or left cannot join
    /// again.
    void tolerate();
    std::optional<rank_change> next_change();

    void at(peer_failure::job_phase now) noexcept;
    void reserve(std::int64_t count);
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept;

private:
    explicit tcp(std::unique_ptr<detail::net::tcp_rank> does);

    int rank_;
    int size_;
    std::unique_ptr<detail::net::tcp_rank> does_;
};

static_assert(detail::ballot_transport<tcp> && tolerant_transport<tcp>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/tcp.ipp"
#endif
