#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/placement.hpp"
#include "sotto/core/detail/processes/unwinding.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/messaging/membership.hpp"
#include "sotto/transports/detail/messaging/message_exchange.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/detail/tcp/tcp_control.hpp"
#include "sotto/transports/detail/tcp/tcp_gathering.hpp"
#include "sotto/transports/detail/tcp/tcp_join.hpp"
#include "sotto/transports/detail/tcp/tcp_links.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// The transport between processes over TCP.
///
/// Messages go straight from the memory that was lent to the system and back, moved by the thread
/// that uses the transport whenever it is inside of it; what it leaves to the system's buffers
/// travels while it computes. A thread of its own says four times a second that this rank lives,
/// and hears of the others, over connections of its own. A rank that is killed is known to all
/// others at once, one that hangs after tcp_options::dead_after; the others stay what they are and
/// throw peer_failure, which names the first that failed.
///   wire    see tcp_join for how ranks meet, message_link for messages, membership for the rest
///   memory  for each other rank 64 KiB and what it sent before its receive: in blocks of powers of
///           two, so up to twice tcp_options::budget; 8 MiB of such blocks are kept
///   cost    a message of a few bytes takes two calls of the system at each end
///   errors  as in_process; a send may complete before it is received, so that what fails at the
///           receiver is told to a later call
class tcp {
    using transfer = detail::net::transfer;

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
        explicit meeting(const tcp_options& options) : options_(options) {
            detail::net::require_possible(options);
            auto context = detail::net::open_context(options);
            if (options.elastic)
                gathering_ =
                    std::make_unique<detail::net::tcp_gathering>(std::move(context), options);
            else
                joining_ = std::make_unique<detail::net::tcp_join>(std::move(context), options);
        }

        /// Which port it is.
        std::uint16_t port() {
            require_open();
            return gathering_ ? gathering_->listen() : joining_->listen();
        }

        /// Once. Afterwards nobody listens there, but in an elastic job.
        tcp join() {
            require_open();
            auto gathering = std::exchange(gathering_, nullptr);
            auto joining = std::exchange(joining_, nullptr);
            auto connections = gathering ? gathering->run() : joining->run();
            joining.reset();  // closes its port before more is opened
            return tcp(options_, std::move(connections), std::move(gathering));
        }

    private:
        void require_open() const {
            if (!joining_ && !gathering_)
                throw std::logic_error("tcp: the meeting is over: it was joined");
        }

        tcp_options options_;
        std::unique_ptr<detail::net::tcp_join> joining_;
        std::unique_ptr<detail::net::tcp_gathering> gathering_;  // in its place
    };

    tcp(const tcp&) = delete;
    tcp& operator=(const tcp&) = delete;
    /// Leaves; what was sent still arrives, which is waited for while its receivers live, up to
    /// tcp_options::timeout. Where an exception passes, the others are told that this rank failed.
    /// In a child of fork() it closes the child's descriptors and sends nothing: the rank is the
    /// parent's.
    ~tcp() {
        if (!owner_.is_this()) {
            leave_to_parent();
            return;
        }
        if (unwinding_.begun()) fail(detail::net::unwound_cause);
        control_.gather_no_more();
        if (!withdrawn_) {
            exchange_.abandon();
            links_.close_when_heard(options_.timeout, [&] { return !control_.failed(); });
        }
        control_.stop();
    }

    int rank() const noexcept { return options_.rank; }
    int size() const noexcept { return options_.size; }

    request send(int to, tag label, byte_view out) {
        begin();
        require_here(to);
        transfer& t = exchange_.send(to, label, out);
        const request made = detail::net::message_exchange::request_of(t);
        if (to != rank()) links_.write(to);
        return made;
    }

    request receive(int from, tag label, mutable_byte_view in) {
        begin();
        if (!exchange_.holds(from, label)) require_here(from);
        transfer& t = exchange_.receive(from, label, in);
        const request made = detail::net::message_exchange::request_of(t);
        links_.write_to_all();  // that a message which waits may come
        return made;
    }

    std::optional<completion> poll(request r) {
        begin();
        transfer& t = exchange_.find(r);
        if (under_way(t)) {
            links_.move_now_and_then();
            let_go();
            if (under_way(t)) {
                require_possible(t);
                return std::nullopt;
            }
        }
        return finish(t);
    }

    completion wait(request r) {
        begin();
        transfer& t = exchange_.find(r);
        block([&] { return !under_way(t); }, [&] { return t.peer; }, [&] { return described(t); },
              [&] { require_possible(t); });
        return finish(t);
    }

    std::uint64_t activity() const noexcept { return exchange_.activity() + control_.news(); }

    void await(std::uint64_t seen) {
        begin();
        if (activity() != seen) return;
        const transfer* const waited = exchange_.longest_waiting();
        if (!waited && !tolerates_)
            exchange_.misuse("await, but no transfer is under way that could end it");
        // While ranks may come and go the caller has a time limit of its own.
        const time_point enough =
            tolerates_ ? now() + detail::waiting_time::slice_max : (time_point::max)();
        block([&] { return activity() != seen || now() >= enough; },
              [&] { return waited ? waited->peer : any_rank; },
              [&] { return waited ? described(*waited) : std::string("any change"); },
              [&] {
                  if (!links_.all_open())
                      exchange_.for_each_under_way([&](const transfer& t) { require_possible(t); });
              });
    }

    bool agree(bool vote) { return agree(*everyone_, vote); }

    /// The vote of some ranks (ascending; this one among them), as atomic as that of all: for
    /// groups.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label) {
        return control_.with([&](detail::net::membership& m) -> std::reference_wrapper<ballot> {
            return m.open(members, label);
        });
    }

    bool agree(ballot& among, bool vote) {
        begin();
        if (!among.has(rank()))
            throw invalid_option("tcp: rank " + std::to_string(rank()) +
                                 " votes in a ballot that it is not a member of");
        control_.listen();  // before the vote: a rank that hung may have been given up
        const std::uint64_t poll =
            control_.with([&](detail::net::membership& m) { return m.vote(among, vote); });
        std::optional<bool> verdict;
        bool settled = false;  // there will be none
        std::uint64_t looked_at = control_.news() - 1;
        int absent = any_rank, gone = any_rank;
        const auto look = [&] {
            control_.listen();
            const std::uint64_t news = control_.news();
            if (std::exchange(looked_at, news) == news) return verdict || settled;
            control_.with([&](detail::net::membership& m) {
                using enum detail::net::membership::standing;
                if (among.completed > poll)
                    verdict = among.verdict;
                else if ((absent = m.first_absent(among)) >= 0 && tolerates_)
                    gone = m.is_voteless(absent) ? absent : any_rank;
                else if (absent >= 0 && m.of(absent) == left)
                    m.fail(absent, left_cause);
                settled = gone >= 0 || m.settled();
            });
            return verdict || settled;
        };
        block(
            look, [&] { return absent; }, [] { return std::string("a vote"); }, [] {}, &among);
        if (!verdict && gone >= 0) throw peer_failure(gone, "there is no vote of it", occasion_);
        if (!verdict) raise();
        return *verdict;
    }

    void withdraw() noexcept {
        if (!owner_.is_this()) return leave_to_parent();
        withdrawn_ = true;
        control_.gather_no_more();
        exchange_.abandon();
        links_.close();
    }

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept {
        if (!owner_.is_this()) return leave_to_parent();
        try {
            control_.with([&](detail::net::membership& m) {
                if (!m.first_failure()) m.fail(rank(), std::string(cause), kind);
            });
        } catch (...) {  // no memory for the text: closing says it without
        }
        withdraw();
    }

    [[noreturn]] void blame(int rank, const std::string& cause, errc code) {
        accuse(rank, cause, code);
        if (!tolerates_) raise();
        if (rank == this->rank()) withdraw();
        throw peer_failure(rank, cause, occasion_, code);
    }

    /// See tolerant_transport. Without tcp_options::elastic a rank that went does not come again.
    void tolerate() {
        control_.with([](detail::net::membership& m) { m.tolerate(); });
        tolerates_ = true;
    }
    std::optional<rank_change> next_change() {
        begin();
        let_go();
        if (changes_.empty()) return std::nullopt;
        detail::net::tcp_control::change first = std::move(changes_.front());
        changes_.pop_front();
        const int peer = first.what.rank;
        if (!first.is_here()) {
            let_go_of(peer);
            return rank_change{peer, false, first.what.code == errc{}, std::move(first.what.cause)};
        }
        links_.open(peer, std::move(first.data));
        exchange_.forget(peer);
        connect(peer, first.incarnation);
        links_.read(peer);  // poll(2) says nothing of what came with the greeting
        return rank_change{peer, true};
    }

    void at(peer_failure::occasion now) noexcept { occasion_ = now; }
    void reserve(std::int64_t count) { exchange_.reserve(count); }
    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return exchange_.counters(); }

private:
    static constexpr const char* left_cause = "it left: it is done";

    tcp(const tcp_options& options, detail::net::tcp_connections connections,
        std::unique_ptr<detail::net::tcp_gathering> gathering)
        : options_(options),
          incarnation_(connections.incarnations[static_cast<std::size_t>(options.rank)]),
          exchange_("tcp", options.rank, options.size),
          control_(membership_of(options, connections), std::move(connections.control), woken_,
                   std::move(gathering)),
          links_(exchange_, control_, std::move(connections.data)),
          tolerates_(options.elastic) {
        for (int peer = 0; peer < size(); ++peer)
            if (links_.is_open(peer))
                connect(peer, connections.incarnations[static_cast<std::size_t>(peer)]);
        std::vector<int> everyone(static_cast<std::size_t>(size()));
        for (int peer = 0; peer < size(); ++peer) everyone[static_cast<std::size_t>(peer)] = peer;
        everyone_ = &open_ballot(everyone, 0);
        reserve(options.transfers);
        // What came together with the last of the handshake is there, though poll(2) says nothing.
        links_.read_all();
        control_.start();  // last: what fails before it ends all connections at once
    }

    static detail::net::membership membership_of(const tcp_options& options,
                                                 const detail::net::tcp_connections& of) {
        detail::net::membership made{
            options.rank,
            options.size,
            0,
            // A rank that comes while others work may meet them for as long as three times `join`.
            {options.heartbeat, options.dead_after,
             (std::max)(options.elastic ? 3 * options.join : options.join, options.dead_after),
             "tcp", options.size, /*settling*/ 10},
            [&](int from, int to) { return of.seed(from, to, detail::net::control_seed); },
            std::chrono::steady_clock::now()};
        if (options.elastic) {
            made.tolerate();
            for (const int absent : of.absent()) made.fail(absent, "it has not come");
        }
        return made;
    }

    void connect(int peer, std::uint64_t incarnation) {
        using detail::net::data_seed;
        using detail::net::link_seed;
        exchange_.connect(
            peer, {.epoch = 0,
                   .seed_out = link_seed(rank(), incarnation_, peer, incarnation, data_seed),
                   .seed_in = link_seed(peer, incarnation, rank(), incarnation_, data_seed),
                   .budget = options_.budget,
                   .part = detail::wire::message_part_bytes});
    }

    /// In a child of fork(): no other rank notices.
    void leave_to_parent() noexcept { withdrawn_ = true; }

    static bool under_way(const transfer& t) noexcept {
        return t.reached == transfer::stage::posted;
    }

    void begin() {
        if (control_.failed()) raise();
        if (withdrawn_) exchange_.misuse("called after it withdrew");
    }

    void require_here(int peer) const {
        if (tolerates_ && peer >= 0 && peer < size() && peer != rank() && !links_.is_open(peer))
            throw peer_failure(peer, "it went", occasion_);
    }

    /// While ranks may come and go: ends what is under way with those that went. Nothing comes from
    /// one that is there anew before the user has heard of it.
    void let_go() {
        const std::uint64_t news = control_.news();
        if (!tolerates_ || std::exchange(heard_, news) == news) return;
        while (auto change = control_.next_change()) {
            if (!change->is_here()) let_go_of(change->what.rank);
            changes_.push_back(std::move(*change));
        }
    }
    void let_go_of(int peer) {
        if (!links_.is_open(peer) && !exchange_.link_to(peer)) return;
        if (links_.is_open(peer)) links_.read(peer);  // what it had sent
        links_.forget(peer);
        exchange_.disconnect(peer);
    }

    completion finish(transfer& t) {
        if (t.reached == transfer::stage::lost) {
            const int peer = t.peer;
            exchange_.retire(t);
            throw peer_failure(peer, "it went", occasion_);
        }
        if (t.reached == transfer::stage::too_long) {
            const std::string text = detail::net::too_long(t, rank());
            fail(text, errc::mismatch);
            throw mismatch(text);
        }
        return exchange_.finish(t);
    }

    void accuse(int peer, const std::string& cause, errc code = errc::peer_failed) {
        control_.with([&](detail::net::membership& m) { m.fail(peer, cause, code); });
    }

    /// Throws if a transfer that is under way can never complete because its peer is done.
    void require_possible(const transfer& t) {
        const int peer = t.peer;
        if (peer == rank() || (peer != any_rank && links_.is_open(peer))) return;
        if (peer == any_rank && (links_.any_open() || size() == 1)) return;
        const int gone = peer == any_rank ? (rank() == 0 ? 1 : 0) : peer;
        using detail::net::membership;
        control_.listen();
        const auto is = control_.with([&](membership& m) { return m.of(gone); });
        if (is == membership::standing::left) {
            if (!tolerates_) accuse(gone, left_cause);
        }
        // Else that it failed is on its way; a rank whose data connection alone broke has failed.
        else if (const auto why = links_.why_lost(gone); why && is == membership::standing::alive)
            accuse(gone, *why);
        if (control_.failed()) raise();
    }

    /// Moves bytes until `done`; throws at the deadline, or when a rank failed. `votes`: these are
    /// waited for, and that is decided even if a rank failed, one that is late at the deadline
    /// included: who gave up by its own clock might miss what the others have seen complete. For
    /// that there is as much time again, and 10 s at least.
    template <class Done, class Whom, class Describe, class Check>
    void block(Done done, Whom whom, Describe describe_it, Check check,
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
                    give_up(whom(), describe_it());
                    continue;
                }
                if (!control_.failed()) be_late(whom(), describe_it());
                if (!settles || std::exchange(late, true)) raise();
                limit = deadline(present, (std::max<duration>)(options_.timeout, settling));
            }
            const bool sleeps = present - started > patience;
            if (sleeps && links_.halted() && links_.move_until(done, detail::net::keeps_all)) break;
            if (sleeps) {
                control_.wait_for(whom());
                slept = true;
                waits_.clear();
                if (votes) control_.add_waits_for(*votes, waits_);
                links_.sleep(limit.next_look() - present, woken_, waits_);
            } else {
                std::this_thread::yield();
            }
            if (links_.move_until(done)) break;
        }
        if (slept) control_.wait_for(detail::net::waits_for_nobody);
    }

    /// The same while ranks may come and go: the rank that is waited for is gone.
    void give_up(int peer, const std::string& what) {
        const std::string how = waited_in_vain(what);
        if (peer < 0) throw error(errc::timed_out, "tcp: " + how);
        accuse(peer, "it was late: " + how, errc::timed_out);
    }

    void be_late(int peer, const std::string& what) {
        control_.with([&](detail::net::membership& m) {
            m.fail(m.end_of_chain(peer), "it was late: " + waited_in_vain(what), errc::timed_out);
        });
    }

    std::string waited_in_vain(const std::string& what) const {
        return detail::net::waited_in_vain("tcp", rank(), options_.timeout, what);
    }

    [[noreturn]] void raise() {
        withdraw();  // first: the caller's memory goes while the exception passes
        const auto why =
            control_.with([](detail::net::membership& m) { return m.first_failure(); });
        if (!why) throw peer_failure(rank(), "its memory is used up", occasion_);
        throw peer_failure(why->rank, why->cause, occasion_, why->code);
    }

    static constexpr duration patience = std::chrono::microseconds(50);
    static constexpr duration settling = std::chrono::seconds(10);

    tcp_options options_;
    std::uint64_t incarnation_;
    detail::net::message_exchange exchange_;
    detail::net::wake_up woken_;
    detail::net::tcp_control control_;
    detail::net::tcp_links links_;
    ballot* everyone_ = nullptr;
    bool withdrawn_ = false;
    bool tolerates_ = false;
    std::uint64_t heard_ = 0;                               // of the membership's news
    std::deque<detail::net::tcp_control::change> changes_;  // that the user has not heard of
    std::vector<pollfd> waits_;
    detail::unwinding unwinding_;
    detail::owner_process owner_;
    peer_failure::occasion occasion_;
};

static_assert(detail::ballot_transport<tcp> && tolerant_transport<tcp>);

}  // namespace sotto
