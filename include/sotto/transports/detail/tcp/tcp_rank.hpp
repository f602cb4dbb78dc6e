#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/detail/processes/unwinding.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/message_exchange.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/detail/tcp/tcp_control.hpp"
#include "sotto/transports/detail/tcp/tcp_rendezvous.hpp"
#include "sotto/transports/detail/tcp/tcp_links.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// Implementation of `tcp`, once its rank has met the others. See tcp.
class tcp_rank {
public:
    using ballot = membership::ballot;

    tcp_rank(const tcp_options& options, tcp_connections connections,
             std::unique_ptr<tcp_rendezvous> gathering);
    tcp_rank(const tcp_rank&) = delete;
    tcp_rank& operator=(const tcp_rank&) = delete;
    ~tcp_rank();

    int rank() const noexcept { return options_.rank; }
    int size() const noexcept { return options_.size; }

    request send(int to, tag label, byte_view out);

    request receive(int from, tag label, mutable_byte_view in);

    std::optional<completion> poll(request r);

    completion wait(request r);

    std::uint64_t activity() const noexcept { return exchange_.activity() + control_.news(); }

    void await(std::uint64_t seen);

    bool agree(bool vote) { return agree(*everyone_, vote); }

    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    bool agree(ballot& among, bool vote);

    void withdraw() noexcept;

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept;

    [[noreturn]] void blame(int rank, const std::string& cause, errc code);

    void tolerate();
    std::optional<rank_change> next_change();

    void at(peer_failure::job_phase now) noexcept { phase_ = now; }
    void reserve(std::int64_t count) { exchange_.reserve(count); }
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    traffic counters() const noexcept { return exchange_.counters(); }

private:
    static constexpr const char* left_cause = "it left: it is done";

    static membership membership_of(const tcp_options& options, const tcp_connections& of);

    void connect(int peer, std::uint64_t incarnation);

    /// For a child of fork(): no other rank notices.
    void leave_to_parent() noexcept { withdrawn_ = true; }

    static bool in_flight(const transfer& t) noexcept;

    void begin();

    void require_here(int peer) const;

    /// While ranks may leave and return: ends all transfers with ranks that failed or left. Nothing
    /// is received from a rank that joined again before the user knows.
    void let_go();
    void let_go_of(int peer);

    completion finish(transfer& t);

    void accuse(int peer, const std::string& cause, errc code = errc::peer_failed);

    /// Throws if a transfer in flight can never complete because its peer is done.
    void require_possible(const transfer& t);

    /// Moves bytes until `done`. Throws at the deadline, or when a rank failed. `votes`: the ballot
    /// that is waited for. It is decided in spite of a failed rank, even one that is late at the
    /// deadline: a rank that stopped by its own clock might miss a poll that others have seen
    /// complete. The wait then takes up to the same time again, and at least 10 s.
    template <class Done, class Awaited, class Describe, class Check>
    void block(Done done, Awaited awaited, Describe describe_it, Check check,
               const ballot* votes = nullptr) {
        const bool settles = votes != nullptr;
        if (links_.move_until(done)) return;
        const time_point started = now();
        deadline limit(started, options_.timeout);
        bool slept = false;
        for (bool late = false; true;) {
            if (control_.failed() && !settles) raise();
            control_.say_noted();
            let_go();
            if (done()) break;
            check();
            const time_point present = now();
            if (limit.passed(present)) {
                if (tolerates_) {
                    limit = deadline(present, options_.timeout);
                    give_up(awaited(), describe_it());
                    continue;
                }
                if (!control_.failed()) be_late(awaited(), describe_it());
                if (!settles || std::exchange(late, true)) raise();
                limit = deadline(present, (std::max<duration>)(options_.timeout, settling));
            }
            const bool sleeps = present - started > patience;
            if (sleeps && links_.halted() && links_.move_until(done, keeps_all)) break;
            if (sleeps) {
                control_.wait_for(awaited());
                slept = true;
                waits_.clear();
                if (votes) control_.add_waits_for(*votes, waits_);
                links_.sleep(limit.next_look() - present, woken_, waits_);
            } else {
                std::this_thread::yield();
            }
            if (links_.move_until(done)) break;
        }
        if (slept) control_.wait_for(waits_for_no_rank);
    }

    /// The deadline passed while ranks may leave and return: drops the awaited rank.
    void give_up(int peer, const std::string& what);

    void be_late(int peer, const std::string& what);

    std::string how_late(const std::string& what) const;

    [[noreturn]] void raise();

    static constexpr duration patience = std::chrono::microseconds(50);
    static constexpr duration settling = std::chrono::seconds(10);

    tcp_options options_;
    std::uint64_t incarnation_;
    message_exchange exchange_;
    wake_up woken_;
    tcp_control control_;
    tcp_links links_;
    ballot* everyone_ = nullptr;
    bool withdrawn_ = false;
    bool tolerates_ = false;
    std::uint64_t heard_ = 0;                  // membership news that are processed
    std::deque<tcp_control::change> changes_;  // changes that the user does not know of
    std::vector<pollfd> waits_;
    unwinding unwinding_;
    owner_process owner_;
    peer_failure::job_phase phase_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_rank.ipp"
#endif
