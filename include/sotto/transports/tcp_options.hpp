#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/placement.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto {

/// Where a rank of a job over TCP is, and how it meets the others. All ranks are given the same
/// values but for `rank`, `bind` and `transfers`.
struct tcp_options {
    int rank = 0;  // of this process, 0 to size - 1
    int size = 1;  // ranks of the job
    /// Where rank 0 listens and the others find it: a name or an address, of IPv6 as `::1`, `[::1]`
    /// or `fe80::1%eth0`. A name is resolved again until rank 0 answers. One that this machine
    /// knows for itself by loopback, as Debian's do by 127.0.1.1, needs `bind`.
    std::string address = "127.0.0.1";
    std::uint16_t port = 29500;  // of rank 0
    /// The address that this rank listens on for others; empty: on rank 0 `address`, else the one
    /// from which it reaches rank 0.
    std::string bind{};
    /// A descriptor of a socket that listens already, which a launcher opened for this rank and
    /// which becomes the transport's own; -1: the transport opens one.
    int listener = -1;
    std::string job = "sotto";    // jobs with other names refuse each other
    std::string configuration{};  // anything that must be alike on all ranks
    /// What keeps strangers out: `pre_shared_key` of sotto/transports/tcp_tls.hpp. Without it
    /// nothing but loopback is used, and only processes of one user join.
    std::shared_ptr<const detail::tcp_security> security{};
    bool insecure_network = false;  // allows addresses other than loopback without `security`
    /// Allows processes of all users of this machine to join a job on loopback without `security`.
    bool allow_other_users = false;

    /// Ranks may fail, come late and come again while the others go on; see tolerant_transport.
    /// Then a job begins once all are there, or at the end of `join` with those that are, and its
    /// ranks listen for others as long as it lasts.
    bool elastic = false;

    /// How long one call may block while the others live; above 0, or deadline::never. So it bounds
    /// how long one rank may keep the others waiting: computing, loading data, callbacks,
    /// evaluation. Time in which this process is halted does not count. A vote in which the limit
    /// passes may take as long again, or 10 s if that is longer, for all to end it alike.
    duration timeout = std::chrono::seconds(60);
    duration join = std::chrono::seconds(30);      // until all ranks are there
    duration handshake = std::chrono::seconds(5);  // of one connection
    /// Time between two signs of life of each rank to all others. Among more than 33 ranks they are
    /// rarer: each rank sends at most 32 per heartbeat.
    duration heartbeat = std::chrono::milliseconds(250);
    /// A rank from which nothing came for so long is dead; 0: never, for debuggers. Bytes of
    /// messages count as well. A slow network makes the limit up to 3 times as long: by 4 times the
    /// measured delay; where what is sent to the rank is lost, by at least half of dead_after; and
    /// to 3 times, where nothing is acknowledged while the rank is heard for less than 10 times
    /// dead_after, so that no delay is measured under load. A process that hangs on a machine that
    /// works is missed after dead_after. In a large job the limit is at least four times the time
    /// between signs of life: 3.7 s among 120 ranks.
    duration dead_after = std::chrono::seconds(2);

    /// Bytes that each other rank may send before they are received. Word of what was received
    /// travels behind whatever waits in queues on the way: with 4 MiB a ring at 1 Gbit/s, behind
    /// 36 ms of queue, had 0.78 of the rate, with 16 MiB it has 0.99.
    std::int64_t budget = 16 << 20;
    std::int64_t transfers = 64;  // room for so many under way at a rank; grows when exceeded

    /// Where a launcher has placed this rank; all else by default.
    static tcp_options at(const placement& place);

    void describe(auto&& field) const {
        field("size", size);
        field("job", job);
    }
};

}  // namespace sotto

namespace sotto::detail::net {

/// Whether the users at both ends of a connection must be one.
bool must_be_of_one_user(const tcp_options& options) noexcept;

/// Throws invalid_option, which names the option and what it may be.
void require_possible(const tcp_options& options);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/tcp_options.ipp"
#endif
