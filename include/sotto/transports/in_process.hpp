#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {
class in_process_hub;
namespace local {
struct transfer;
struct mailbox;
struct ballot;
}  // namespace local
}  // namespace sotto::detail

namespace sotto {

/// Transport between threads of one process: one rank's view of the hub that they share.
///
/// The later of the two sides copies a message once, from the sender's memory to the receiver's.
/// The message is then complete at both sides. Nothing is buffered: a send completes only when it
/// was received.
///   cost    a message costs 4 uncontended locks and one memcpy. There is no allocation while
///           `reserve` made room for all transfers in flight
///   errors  peer_failure: a rank failed, left while another rank waited for it, or
///           (errc::timed_out) made a rank wait for longer than the timeout. mismatch: a message is
///           longer than the memory posted for it. The side that notices first throws it, and the
///           other side sees that this one failed. invalid_option: a rank that does not exist, a
///           vote among ranks without this one. std::logic_error: a request that is spent, a call
///           after withdraw, an await that nothing could end
class in_process {
    using transfer = detail::local::transfer;

public:
    /// See transport.
    using ballot = detail::local::ballot;

    /// Endpoint of one rank; the hub must outlive it.
    in_process(detail::in_process_hub& hub, int rank);
    in_process(const in_process&) = delete;
    in_process& operator=(const in_process&) = delete;
    /// Withdraws: see transport.
    ~in_process();

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

    void at(peer_failure::job_phase now) noexcept { phase_ = now; }

    void reserve(std::int64_t count);

    time_point now() const noexcept;
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return traffic_; }

private:
    struct transfers;

    detail::local::mailbox& own() const noexcept;

    static bool in_flight(const transfer& t) noexcept;

    void begin();

    void begin(const char* what, int peer, int lowest);

    transfer& take(bool sends, int peer, tag label, std::int64_t size);

    request post(transfer& t);

    transfer& find(request r);

    void retire(transfer& t) noexcept;

    completion finish(transfer& t);

    /// Blocks until `awake` returns true. Returns false if the deadline passes first.
    template <class Predicate>
    bool sleep(int waits_for, Predicate awake);

    [[noreturn]] void lose(int leaver);

    [[noreturn]] void raise();

    [[noreturn]] void misuse(const std::string& what) const;

    static std::string name(const tag& label);

    static std::string describe(const transfer& t);

    detail::in_process_hub* hub_;
    int rank_, size_;
    bool withdrawn_ = false;
    peer_failure::job_phase phase_;
    traffic traffic_;
    std::unique_ptr<transfers> transfers_;
};

static_assert(transport<in_process>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/in_process.ipp"
#endif
