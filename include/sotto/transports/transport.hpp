#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

/// What a message belongs to. Sender and receiver name the same tag; messages of one sender with
/// equal tags are received in the order in which they were sent.
struct tag {
    std::uint32_t channel = 0;  // the user of the transport: a strategy, an evaluation, a barrier
    std::uint32_t item = 0;     // within a channel: a tensor, a bucket, a step
    std::uint64_t round = 0;    // grows by one with every exchange

    friend constexpr bool operator==(const tag&, const tag&) = default;
};

/// The channels that sotto's own users of a transport take; a program's own messages take 16 and
/// above.
namespace channels {
inline constexpr std::uint32_t set_up = 0;      // what ranks compare and agree on at first
inline constexpr std::uint32_t sums = 1;        // of gradients that are added up on the way
inline constexpr std::uint32_t messages = 2;    // of gradients that everybody gathers
inline constexpr std::uint32_t epochs = 3;      // what ranks agree on when an epoch begins
inline constexpr std::uint32_t evaluation = 4;  // of data that are shared out
inline constexpr std::uint32_t checkpoint = 5;  // what ranks remember, for one of them to write
inline constexpr std::uint32_t pushes = 6;      // of gradients to a server
inline constexpr std::uint32_t parameters = 7;  // from a server
inline constexpr std::uint32_t gossip = 8;      // between neighbours
inline constexpr std::uint32_t teachers = 9;    // models that others learn from
}  // namespace channels

/// Receive from whoever sends first.
inline constexpr int any_rank = -1;

/// A transfer that is under way. A handle of 8 bytes; spent once `poll` or `wait` has reported its
/// completion.
struct request {
    std::uint32_t slot = 0;        // of the endpoint's table
    std::uint32_t generation = 0;  // which transfer of that slot
};

/// How a transfer ended: who sent, and how many bytes.
struct completion {
    int source = 0;          // who sent
    std::int64_t bytes = 0;  // of the message
};

/// What went through one endpoint since it was made.
struct traffic {
    std::int64_t bytes_sent = 0;         // of messages, without what frames add
    std::int64_t bytes_received = 0;     // of messages, without what frames add
    std::int64_t messages_sent = 0;      // that were sent
    std::int64_t messages_received = 0;  // that came
};

/// An amount of computing, so that a simulated network can let virtual time pass. Real transports
/// ignore it.
struct work {
    double flops = 0.0;  // operations on floats
    double bytes = 0.0;  // of memory that are read and written
};

/// How bytes reach another rank. One endpoint belongs to one rank and is used by one thread at a
/// time.
///
/// `send` and `receive` only start a transfer and never block: the memory stays the caller's, and
/// must stay valid and, for a send, unchanged until the transfer is complete. A message longer than
/// the memory posted for it is an error at both ends. Everything that can block has a `deadline`,
/// set when the transport was made, and throws `peer_failure` naming the first rank that failed; so
/// does every later call, unless a tolerant_transport was told to tolerate that. Time in which the
/// process is halted does not count.
///   send(to, tag, bytes), receive(from or any_rank, tag, bytes)   start; a rank may send to itself
///   poll(request)      completion if it is complete, without blocking
///   wait(request)      blocks until it is
///   activity()         a number that changes whenever a transfer of this endpoint completes or a
///                      rank fails
///   await(seen)        blocks until activity() != seen
///   agree(vote)        blocks until every rank has voted; true if all voted true. Either every
///                      surviving rank learns the verdict or every one throws: this is what makes a
///                      round atomic
///   withdraw()         ends every transfer under way and takes this rank out of the job: on return
///                      no memory of the caller is touched any more. Only `counters` and `now` may
///                      be called afterwards. For whoever lent memory and is leaving by an
///                      exception; a rank that throws `peer_failure` has done it, unless it
///                      tolerates that
///   fail(cause)        tells every rank that this one gave up, and why; then withdraws. What the
///                      others wait for throws at once and names this rank, unless another one
///                      failed before. For whoever catches a failure of its own and would
///                      otherwise leave the others waiting until their deadline. A transport may
///                      take the errc of the failure as a second argument, which the others then
///                      find as the code of their peer_failure; see fail_with_exception
///   blame(rank, cause, code)   optional: as fail, for what another rank, or this one, did. All
///                      ranks name that rank. Then throws peer_failure, for the rank that failed
///                      first. If the failure of a rank is tolerated, only that rank is gone
///   at(peer_failure::job_phase)       where the job stands, for messages
///   reserve(n)         room for n transfers under way at once, taken now
///   now(), charge(w)   the transport's clock; w is computing that was, or on a simulated network
///                      is to be, done
///   counters()         what went through this endpoint
/// and may have
///   simulated_network()   a text: its figures, where time is that of a network that does not exist
///   open_ballot(members, label)   what `agree(ballot, vote)` then takes: an `agree` of some ranks
///                      only, as atomic as the one of all. The members are ascending; every one of
///                      them opens the ballot with the same members and label, and keeps it
template <class T>
concept transport = requires(T& t, const T& c, int peer, tag label, byte_view out,
                             mutable_byte_view in, request r, std::uint64_t seen, bool vote,
                             std::string_view cause, peer_failure::job_phase where, work amount,
                             std::int64_t count) {
    { c.rank() } -> std::same_as<int>;
    { c.size() } -> std::same_as<int>;
    { t.send(peer, label, out) } -> std::same_as<request>;
    { t.receive(peer, label, in) } -> std::same_as<request>;
    { t.poll(r) } -> std::same_as<std::optional<completion>>;
    { t.wait(r) } -> std::same_as<completion>;
    { t.activity() } -> std::same_as<std::uint64_t>;
    t.await(seen);
    { t.agree(vote) } -> std::same_as<bool>;
    { t.withdraw() }
    noexcept;
    { t.fail(cause) }
    noexcept;
    t.at(where);
    t.reserve(count);
    { c.now() } -> std::same_as<time_point>;
    t.charge(amount);
    { c.counters() } -> std::convertible_to<traffic>;
};

/// The figures of a network that exists only in simulated time, as all times then do; empty on a
/// real one.
template <class Transport>
std::string simulated_network_of(const Transport& transport) {
    if constexpr (requires { transport.simulated_network(); })
        return transport.simulated_network();
    else
        return {};
}

}  // namespace sotto
