#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/placement.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto {

/// Place of a rank in a job over TCP, and how it meets the others. All ranks get the same values,
/// except `rank`, `bind` and `transfers`.
struct tcp_options {
    int rank = 0;  // rank of this process, 0 to size - 1
    int size = 1;  // number of ranks
    /// Where rank 0 listens and the others find it: a name or an address, IPv6 as `::1`, `[::1]` or
    /// `fe80::1%eth0`. A name is resolved again until rank 0 answers. If a machine resolves its own
    /// name to loopback, as Debian does with 127.0.1.1, `bind` is needed.
    std::string address = "127.0.0.1";
    std::uint16_t port = 29500;  // port of rank 0
    /// Address on which this rank listens. Empty: rank 0 uses `address`, other ranks the address
    /// from which they reach rank 0.
    std::string bind{};
    /// Descriptor of a listening socket that a launcher opened for this rank. The transport takes
    /// ownership. -1: the transport opens one.
    int listener = -1;
    std::string job = "sotto";    // jobs with other names refuse each other
    std::string configuration{};  // any text that must be equal on all ranks
    /// Protection against strangers: `pre_shared_key` of sotto/transports/tcp_tls.hpp. Without it
    /// only loopback is used, and only processes of one user join.
    std::shared_ptr<const detail::tcp_security> security{};
    bool insecure_network = false;  // allows addresses other than loopback without `security`
    /// Allows processes of all users of this machine to join a job on loopback without `security`.
    bool allow_other_users = false;

    /// Ranks may fail, join late and join again while the others work; see tolerant_transport. A
    /// job then begins once all ranks are there, or at the end of `join` with those present. Its
    /// ranks listen for others as long as it lasts.
    bool elastic = false;

    /// Time limit of one blocking call while the other ranks live; above 0, or deadline::never. It
    /// also limits how long one rank may keep the others waiting: computing, loading data,
    /// callbacks, evaluation. Time in which this process is halted does not count. If the limit
    /// passes during a vote, it may take as long again, and at least 10 s. So all ranks end it
    /// alike.
    duration timeout = std::chrono::seconds(60);
    duration join = std::chrono::seconds(30);      // until all ranks are there
    duration handshake = std::chrono::seconds(5);  // limit of one connection
    /// Time between two signs of life of each rank to all others. Among more than 33 ranks they are
    /// rarer: each rank sends at most 32 per heartbeat.
    duration heartbeat = std::chrono::milliseconds(250);
    /// Silence after which a rank counts as dead; 0: never, for debuggers. Bytes of messages count
    /// as signs of life too. A process that hangs on a working machine is dropped after dead_after.
    ///
    /// A slow network extends the limit, to at most 3 times dead_after. It adds 4 times the
    /// measured delay, and at least half of dead_after if data sent to the rank is lost. If nothing
    /// is acknowledged, the limit is 3 times dead_after while the rank's signs of life span less
    /// than 10 times dead_after: until then no delay is measured under load. In a large job the
    /// limit is at least four times the time between signs of life: 3.7 s among 120 ranks.
    duration dead_after = std::chrono::seconds(2);

    /// Bytes that each other rank may send before they are received. Credit for received bytes
    /// travels behind all queued data. A ring at 1 Gbit/s behind 36 ms of queue had 0.78 of the
    /// rate with 4 MiB, and has 0.99 with 16 MiB.
    std::int64_t budget = 16 << 20;
    std::int64_t transfers = 64;  // room for transfers in flight; grows when exceeded

    /// Options for a rank that a launcher has placed; all others are defaults.
    static tcp_options at(const placement& place);

    void describe(auto&& field) const {
        field("size", size);
        field("job", job);
    }
};

}  // namespace sotto

namespace sotto::detail::net {

/// True if the users at both ends of a connection must be the same.
bool must_be_of_one_user(const tcp_options& options) noexcept;

/// Throws invalid_option, which names the option and its allowed values.
void require_possible(const tcp_options& options);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/tcp_options.ipp"
#endif
