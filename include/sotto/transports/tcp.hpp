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

/// The transport between processes over TCP.
///
/// Messages go straight from the memory that was lent to the system and back, moved by the thread
/// that uses the transport whenever it is inside of it; what it leaves to the system's buffers
/// travels while it computes. A thread of its own says four times a second that this rank lives,
/// and hears of the others, over connections of its own. A rank that is killed is known to all
/// others at once, one that hangs after tcp_options::dead_after; the others stay what they are and
/// throw peer_failure, which names the first that failed.
///   wire    tcp_join: how ranks meet; framed_connection: messages; membership: the rest
///   memory  for each other rank 64 KiB and what it sent before its receive: in blocks of powers of
///           two, so up to twice tcp_options::budget; 8 MiB of such blocks are kept
///   cost    a message of a few bytes takes two calls of the system at each end
///   errors  as in_process; a send may complete before it is received, so that what fails at the
///           receiver is told to a later call
class tcp {
public:
    /// See transport.
    using ballot = detail::net::membership::ballot;

    /// Meets the others: returns once all ranks are there.
    ///   errors  as tcp_join
    static tcp join(const tcp_options& options) { return meeting(options).join(); }

    /// The same for a rank that a launcher has placed.
    static tcp join(const placement& place) { return join(tcp_options::at(place)); }

    /// A port that is open before the others are told of it: for rank 0 where the system chooses
    /// the port.
    class meeting {
    public:
        /// Opens the port, or begins to.
        explicit meeting(const tcp_options& options);
        /// What has moved is over, as if it was joined.
        meeting(meeting&&) noexcept;
        meeting& operator=(meeting&&) noexcept;  ///< See above.
        ~meeting();                              ///< Closes the port, unless the ranks have met.

        /// Which port it is.
        std::uint16_t port();

        /// Once. Afterwards no rank listens there, but in an elastic job.
        tcp join();

    private:
        void require_open() const;

        tcp_options options_;
        std::unique_ptr<detail::net::tcp_join> joining_;
        std::unique_ptr<detail::net::tcp_rendezvous> gathering_;  // in its place
    };

    tcp(const tcp&) = delete;
    tcp& operator=(const tcp&) = delete;
    /// Leaves; what was sent still arrives, which is waited for while its receivers live, up to
    /// tcp_options::timeout. Where an exception passes, the others are told that this rank failed.
    /// In a child of fork() it closes the child's descriptors and sends nothing: the rank is the
    /// parent's.
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

    /// The vote of some ranks (ascending; this one among them), as atomic as that of all: for
    /// groups.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    bool agree(ballot& among, bool vote);

    void withdraw() noexcept;

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept;

    [[noreturn]] void blame(int rank, const std::string& cause, errc code);

    /// See tolerant_transport. Without tcp_options::elastic a rank that went does not come again.
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
