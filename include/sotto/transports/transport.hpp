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

/// Label of a message. Sender and receiver use the same tag. Messages of one sender with equal tags
/// are received in the order of sending.
struct tag {
    std::uint32_t channel = 0;  // the user of the transport: a strategy, an evaluation, a barrier
    std::uint32_t item = 0;     // within a channel: a tensor, a bucket, a step
    std::uint64_t round = 0;    // grows by one with every exchange

    friend constexpr bool operator==(const tag&, const tag&) = default;
};

/// Channels that sotto's own users of a transport use. A program's own messages use 16 and above.
namespace channels {
inline constexpr std::uint32_t set_up = 0;      // checks and agreements at set-up
inline constexpr std::uint32_t sums = 1;        // gradients that are added up on the way
inline constexpr std::uint32_t messages = 2;    // gradients that every rank gathers
inline constexpr std::uint32_t epochs = 3;      // agreement at the start of an epoch
inline constexpr std::uint32_t evaluation = 4;  // evaluation of data that are divided among ranks
inline constexpr std::uint32_t checkpoint = 5;  // state of ranks for the rank that writes it
inline constexpr std::uint32_t pushes = 6;      // gradients to a server
inline constexpr std::uint32_t parameters = 7;  // parameters from a server
inline constexpr std::uint32_t gossip = 8;      // between neighbours
inline constexpr std::uint32_t teachers = 9;    // models that other ranks learn from
}  // namespace channels

/// As the sender of a receive: any rank.
inline constexpr int any_rank = -1;

/// Handle of a transfer, 8 bytes. It is spent once `poll` or `wait` has reported its completion.
struct request {
    std::uint32_t slot = 0;        // in the endpoint's table
    std::uint32_t generation = 0;  // distinguishes transfers of one slot
};

/// How a transfer ended.
struct completion {
    int source = 0;          // rank that sent
    std::int64_t bytes = 0;  // size of the message
};

/// Traffic of one endpoint since it was made.
struct traffic {
    std::int64_t bytes_sent = 0;         // bytes of messages, without frame overhead
    std::int64_t bytes_received = 0;     // bytes of messages, without frame overhead
    std::int64_t messages_sent = 0;      // sent messages
    std::int64_t messages_received = 0;  // received messages
};

/// An amount of computing, for which a simulated network lets virtual time pass. Real transports
/// ignore it.
struct work {
    double flops = 0.0;  // operations on floats
    double bytes = 0.0;  // bytes of memory read and written
};

/// Interface of a transport, which carries bytes between ranks. One endpoint belongs to one rank
/// and is used by one thread at a time.
///
/// `send` and `receive` only start a transfer and never block. The memory stays the caller's. It
/// must stay valid until the transfer is complete and, for a send, unchanged. A message longer than
/// the memory posted for it is an error at both ends.
///
/// Every blocking call has a `deadline`, set when the transport was made. It throws `peer_failure`,
/// which names the first rank that failed. So does every later call, unless a tolerant_transport
/// tolerates failures. Time in which the process is halted does not count.
///   send(to, tag, bytes), receive(from or any_rank, tag, bytes)
///                      start a transfer; a rank may send to itself
///   poll(request)      returns the completion if the transfer is complete, without blocking
///   wait(request)      blocks until the transfer is complete, and returns its completion
///   activity()         returns a number that changes whenever a transfer of this endpoint
///                      completes or a rank fails
///   await(seen)        blocks until activity() != seen
///   agree(vote)        blocks until every rank has voted; true if all voted true. Either every
///                      surviving rank gets the verdict or every one throws: this makes a round
///                      atomic
///   withdraw()         ends every transfer in flight and removes this rank from the job. When it
///                      returns, the transport no longer accesses the caller's memory. Only
///                      `counters` and `now` may be called afterwards. Call it before an exception
///                      frees lent memory. A rank that throws `peer_failure` has withdrawn already,
///                      unless it tolerates failures
///   fail(cause)        sends the cause of this rank's failure to all ranks, then withdraws.
///                      Waiting ranks throw at once and name this rank, unless another one failed
///                      before. Call it after catching a failure of this rank: otherwise the others
///                      wait until their deadline. A transport may take the errc of the failure as
///                      a second argument, which becomes the code of the others' peer_failure; see
///                      fail_with_exception
///   blame(rank, cause, code)
///                      optional: as fail, for a failure of another rank or of this one. All ranks
///                      name that rank. Then throws peer_failure for the rank that failed first. If
///                      failures are tolerated, only that rank is dropped
///   at(peer_failure::job_phase)
///                      sets the phase of the job that errors name
///   reserve(n)         allocates room for n transfers in flight at once
///   now(), charge(w)   the transport's clock; `w` is computing that was done or, on a simulated
///                      network, is to be simulated
///   counters()         returns the traffic of this endpoint
/// Optional members:
///   simulated_network()
///                      returns a description of the simulated network whose time the clock shows
///   open_ballot(members, label)
///                      opens a ballot for `agree(ballot, vote)`: an `agree` of some ranks only, as
///                      atomic as that of all. The members are ascending. Every member opens the
///                      ballot with the same members and label, and keeps it
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

/// Description of the simulated network whose time the transport's clock shows; empty on a real
/// one.
template <class Transport>
std::string simulated_network_of(const Transport& transport) {
    if constexpr (requires { transport.simulated_network(); })
        return transport.simulated_network();
    else
        return {};
}

}  // namespace sotto
