#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/transports/detail/messaging/age_list.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// The transport between threads of one process: what one rank sees of the hub they share.
///
/// A message goes from the sender's memory to the receiver's in one copy, made by whichever side
/// comes second, and is complete at both sides at once. Nothing is buffered: a send completes only
/// when it was received.
///   cost    a message costs 4 uncontended locks and one memcpy; no allocation while no more
///           transfers are under way than `reserve` made room for
///   errors  peer_failure: a rank failed, left while it was waited for, or (errc::timed_out) let
///           somebody wait for longer than the timeout; mismatch: a message longer than the memory
///           posted for it, at the end that notices it first: to the other that one has failed;
///           invalid_option: a rank that does not exist, a vote among ranks without this one;
///           std::logic_error: a request that is spent, a call after withdraw, an await that
///           nothing could end
class in_process {
    using transfer = detail::local::transfer;

public:
    /// See transport.
    using ballot = detail::local::ballot;

    /// The endpoint of one rank; the hub must outlive it.
    in_process(detail::in_process_hub& hub, int rank);
    in_process(const in_process&) = delete;
    in_process& operator=(const in_process&) = delete;
    /// Withdraws: see transport.
    ~in_process() { withdraw(); }

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return hub_->size(); }

    request send(int to, tag label, byte_view out);

    request receive(int from, tag label, mutable_byte_view in);

    std::optional<completion> poll(request r);

    completion wait(request r);

    std::uint64_t activity() const noexcept { return own().activity.load(); }

    void await(std::uint64_t seen);

    bool agree(bool vote) { return agree(hub_->everyone(), vote); }

    /// The vote of some ranks (ascending; this one among them), as atomic as that of all: for
    /// groups.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    bool agree(ballot& among, bool vote);

    void withdraw() noexcept;

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept;

    [[noreturn]] void blame(int rank, const std::string& cause, errc code);

    void at(peer_failure::occasion now) noexcept { occasion_ = now; }

    void reserve(std::int64_t count);

    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return traffic_; }

private:
    static constexpr std::int64_t transfers_max = std::int64_t{1} << 24;

    detail::local::mailbox& own() const noexcept { return hub_->box(rank_); }

    static bool under_way(const transfer& t) noexcept;

    void begin();

    void begin(const char* what, int peer, int lowest);

    transfer& take(bool sends, int peer, tag label, std::int64_t size);

    request post(transfer& t);

    transfer& find(request r);

    void retire(transfer& t) noexcept;

    completion finish(transfer& t);

    /// Blocks until `awake`, or the deadline: then false.
    template <class Predicate>
    bool sleep(int waits_for, Predicate awake) {
        detail::local::mailbox& box = own();
        deadline limit(now(), hub_->options().timeout);
        std::unique_lock lock(box.mutex);
        box.waits_for.store(waits_for);
        bool in_time = awake();
        while (!in_time && !limit.passed(now()))
            in_time = box.changed.wait_until(lock, limit.next_look(), awake);
        box.waits_for.store(detail::local::waits_for_nobody);
        return in_time;
    }

    [[noreturn]] void lose(int leaver);

    [[noreturn]] void raise();

    [[noreturn]] void misuse(const std::string& what) const;

    static std::string name(const tag& label);

    static std::string describe(const transfer& t);

    detail::owner_process owner_;
    detail::in_process_hub* hub_;
    int rank_;
    bool withdrawn_ = false;
    peer_failure::occasion occasion_;
    traffic traffic_;
    std::deque<transfer> transfers_;     // never moved: the other side holds pointers to them
    detail::age_list<transfer> in_use_;  // transfers that are not idle
    std::vector<std::uint32_t> free_;
};

static_assert(transport<in_process>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/in_process.ipp"
#endif
