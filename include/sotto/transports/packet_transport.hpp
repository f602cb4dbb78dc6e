#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
#include "sotto/transports/detail/packets/packet_ends.hpp"
#include "sotto/transports/detail/packets/packet_membership.hpp"
#include "sotto/transports/detail/packets/packet_stream.hpp"
#include "sotto/transports/detail/packets/packet_streams.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/packet_options.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// Transport between processes that a packet library connects.
///
/// Only the thread that uses the transport moves bytes, while it is inside a call. So a rank that
/// hangs is noticed only after another rank has waited for it until the deadline. The library
/// detects the end of a rank's process.
///   wire    framed_connection's frames in packets of messages, membership's in the others; an
///           empty packet ends either
///   memory  a packet_options::budget for each other rank, 64 KiB, and 16 KiB for each of at most
///           16 packets in flight
template <packet_library Library>
class packet_transport {
public:
    using ballot = membership::ballot;

    /// Constructs the library from `made_from`.
    template <class... From>
    explicit packet_transport(const packet_options& options, From&&... made_from)
        : library_(std::forward<From>(made_from)...),
          options_(options),
          exchange_(Library::name, library_.rank(), library_.size()),
          streams_(library_, library_.size()),
          members_(library_, streams_, options) {
        std::vector<int> everyone(static_cast<std::size_t>(size()));
        std::iota(everyone.begin(), everyone.end(), 0);
        everyone_ = &open_ballot(everyone, 0);
        reserve(options.transfers);
        library_.served_by([this] { return serve(); });
    }
    packet_transport(const packet_transport&) = delete;
    packet_transport& operator=(const packet_transport&) = delete;

    /// Waits until every rank has left, so that no sent packet remains in the library. After a
    /// failure it waits at most as long as one call may block. If the failed rank was late and
    /// still does nothing, it waits 5 s. Then it ends the job. If an exception unwinds, it notifies
    /// the others that this rank failed.
    ~packet_transport() {
        if (!owner_.is_this()) return;  // a child of fork(): the rank is the parent's
        if (unwinding_.begun()) fail(unwound_cause);
        leave();
    }

    int rank() const noexcept { return library_.rank(); }
    int size() const noexcept { return library_.size(); }  // exchange_ loses it in abandon()
    request send(int to, tag label, byte_view out) {
        begin();
        require_here(to);
        connect(to);
        const request made = message_exchange::request_of(exchange_.send(to, label, out));
        if (to != rank()) write(to);
        return made;
    }

    request receive(int from, tag label, mutable_byte_view in) {
        begin();
        if (!exchange_.holds(from, label)) {  // otherwise its sender may have left
            require_here(from);
            connect(from);
        }
        const request made = message_exchange::request_of(exchange_.receive(from, label, in));
        const framed_connection* const link = from >= 0 ? exchange_.link_to(from) : nullptr;
        if (link && link->has_output()) write(from);  // requests a message that waits at its sender
        return made;
    }

    std::optional<completion> poll(request r) {
        begin();
        transfer& t = exchange_.find(r);
        if (in_flight(t)) move_now_and_then();
        if (!in_flight(t)) return finish(t);
        require_possible(t);
        library_.asked_in_vain();
        return std::nullopt;
    }

    completion wait(request r) {
        begin();
        transfer& t = exchange_.find(r);
        if (in_flight(t))
            block([&] { return !in_flight(t); }, t.peer, [&] { return described(t); },
                  [&] { require_possible(t); });
        return finish(t);
    }

    std::uint64_t activity() const noexcept { return exchange_.activity() + members_->version(); }

    void await(std::uint64_t seen) {
        begin();
        if (activity() != seen) return;
        const transfer* const waited = exchange_.longest_waiting();
        if (!waited && !library_.busy() && !members_->tolerates())
            exchange_.misuse("await, but no transfer is under way that could end it");
        // While ranks may leave and return, the caller has its own time limit.
        const time_point enough =
            members_->tolerates() ? now() + waiting_time::slice_max : (time_point::max)();
        block(
            [&] { return activity() != seen || now() >= enough; }, waited ? waited->peer : any_rank,
            [&] { return waited ? described(*waited) : std::string("what all ranks do together"); },
            [&] { exchange_.for_each_under_way([&](const transfer& t) { require_possible(t); }); });
    }

    bool agree(bool vote) { return agree(*everyone_, vote); }

    /// Opens a vote of some ranks, ascending and with this one among them. The vote is as atomic as
    /// that of all ranks. Groups use it.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label) {
        return members_->open(members, label);
    }

    bool agree(ballot& among, bool vote) {
        begin();
        if (!among.has(rank()))
            throw invalid_option(std::string(Library::name) + ": rank " + std::to_string(rank()) +
                                 " votes in a ballot that it is not a member of");
        listen();  // before the vote: the others may have dropped this rank while it hung
        const std::uint64_t poll = members_->vote(among, vote);
        int absent = members_->first_absent(among);
        const auto decided = [&] {
            return among.completed > poll || members_->settled() ||
                   members_->first_voteless(among) >= 0;
        };
        const auto blame_leavers = [&] {
            if (members_->tolerates() || members_->anybody_left())
                absent = members_->first_absent(among);
            if (!decided() && members_->anybody_left()) members_.accuse_if_left(absent);
        };
        members_.speak();
        if (!decided())
            block(
                decided, absent, [] { return std::string("a vote"); }, blame_leavers, true);
        if (among.completed > poll) return among.verdict;
        if (const int gone = members_->first_voteless(among); gone >= 0)
            throw peer_failure(gone, "there is no vote of it", phase_);
        raise();
    }

    /// Blocks until the library has released all lent memory. This may take as long as a rank that
    /// receives some of it makes no calls. At the deadline it ends the job.
    void withdraw() noexcept {
        if (std::exchange(withdrawn_, true) || !owner_.is_this()) return;
        try {
            take_memory_back();
            exchange_.abandon();
            if constexpr (Library::drains)
                members_.for_each_other(
                    [&](int peer) { streams_.of(peer, packet_kind::messages).end(); });
        } catch (const std::exception& e) {
            library_.end_job(e.what());
        }
    }

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept {
        try {
            if (owner_.is_this() && !members_->first_failure())
                members_.accuse(rank(), std::string(cause), kind);
        } catch (...) {  // no memory for the text: leaving reports the failure without it
        }
        withdraw();
    }

    [[noreturn]] void blame(int rank, const std::string& cause, errc code) {
        members_.accuse(rank, cause, code);
        if (!members_->tolerates()) raise();
        if (rank == this->rank()) withdraw();
        throw peer_failure(rank, cause, phase_, code);
    }

    /// See tolerant_transport.
    void tolerate() noexcept requires(!Library::drains) { members_->tolerate(); }
    std::optional<rank_change> next_change() requires(!Library::drains) {
        begin();
        listen();
        members_.speak();
        auto change = members_.next_change();
        if (change && change->is_here) exchange_.forget(change->rank);
        return change;
    }

    void at(peer_failure::job_phase now) noexcept { phase_ = now; }
    void reserve(std::int64_t count) { exchange_.reserve(count); }
    time_point now() const noexcept { return library_.now(); }
    void charge(work amount) { library_.charge(amount); }
    traffic counters() const noexcept { return exchange_.counters(); }

protected:
    Library& library() noexcept { return library_; }
    const Library& library() const noexcept { return library_; }
    const message_exchange& exchange() const noexcept { return exchange_; }
    const membership& members() const noexcept { return *members_.operator->(); }

    /// Throws if the transport cannot be used any more.
    void begin() {
        library_.require_caller();
        if (members_->first_failure()) raise();
        if (withdrawn_) exchange_.misuse("called after it withdrew");
    }

private:
    using stream = packet_stream<Library>;

    // Time for a rank that withdraws to report why.
    static constexpr duration grace = std::chrono::seconds(1);
    static constexpr duration settling = std::chrono::seconds(10);
    // For a late rank that may be only a little too late.
    static constexpr duration late_grace = std::chrono::seconds(5);

    void require_here(int peer) const {
        if (peer >= 0 && peer < size() && !members_.is_here(peer))
            throw peer_failure(peer, "it went", phase_);
    }

    void connect(int peer) {
        if (peer < 0 || peer >= size() || peer == rank() || exchange_.link_to(peer)) return;
        exchange_.connect(peer, {.epoch = 0,
                                 .seed_out = members_.seed_of(rank(), peer),
                                 .seed_in = members_.seed_of(peer, rank()),
                                 .budget = options_.budget,
                                 .staging = Library::copies ? 1024u : 65536u,
                                 .may_lack_content = Library::may_lack_content});
    }

    static bool in_flight(const transfer& t) noexcept {
        return t.reached == transfer::stage::posted;
    }

    completion finish(transfer& t) {
        if (t.reached == transfer::stage::lost) {
            exchange_.retire(t);
            throw peer_failure(t.peer, "it went", phase_);
        }
        if (t.reached == transfer::stage::too_long) {
            const std::string text = too_long(t, rank());
            fail(text, errc::mismatch);
            throw mismatch(text);
        }
        return exchange_.finish(t);
    }

    // Moving bytes

    void move_now_and_then() {
        const time_point present = now();
        if (present - moved_at_ < std::chrono::microseconds(2)) return;
        move();
        moved_at_ = present;
    }

    void move() {
        listen();
        streams_.fetch(packet_kind::messages);
        streams_.for_each(packet_kind::messages, [&](int peer, stream& s) {
            read(peer, s);
            write(peer, s);
        });
        members_.speak();
        if (library_.advance()) exchange_.stir();
    }

    /// Processes all membership news.
    void listen() {
        members_.hear();
        while (const auto loss = library_.next_loss()) members_->closed(loss->peer, loss->how);
        while (const auto rank = library_.next_arrival()) {
            if (!members_->tolerates()) continue;
            members_->closed(*rank, "another process took its place");
            let_go();
            members_.readmit(*rank);
        }
        let_go();
        members_->count_votes();
    }

    /// Ends all transfers with ranks that failed or left, after everything they had sent is read.
    void let_go() {
        const auto read_what_came = [&](int peer) {
            streams_.fetch(packet_kind::messages);
            stream* const s = streams_.find(peer, packet_kind::messages);
            if (!s || withdrawn_ || members_.is_unheard(peer)) return;
            connect(peer);
            (void)s->read(link_end{exchange_.link_to(peer)});
        };
        while (const auto gone = members_.let_go(read_what_came)) exchange_.disconnect(*gone);
    }

    void write(int peer) { write(peer, streams_.of(peer, packet_kind::messages)); }
    void write(int peer, stream& s) {
        if (withdrawn_)
            s.finish();
        else if (framed_connection* const link = exchange_.link_to(peer);
                 link && link->has_output())
            s.write(link_end{link});
    }

    void read(int peer, stream& s) {
        if (members_.is_unheard(peer)) return;
        const bool had_ended = s.ended();
        const bool is_wanted = members_.is_here(peer) || exchange_.link_to(peer);
        if (withdrawn_ || !is_wanted || members_->of(peer) == membership::standing::failed) {
            (void)s.read(nowhere());
        } else if (connect(peer); const auto why = s.read(link_end{exchange_.link_to(peer)})) {
            members_.accuse(peer, "it sent what is no frame: " + why->text(), errc::altered);
        }
        if (s.ended() && !had_ended) ended_ = deadline(now(), grace);
    }

    /// Called by the library while this rank computes or waits. Returns true if something changed
    /// that the rank may be waiting for.
    bool serve() {
        const std::uint64_t seen = activity();
        listen();
        members_.tick_if_due(now());
        members_.speak();
        return activity() != seen;
    }

    // Waiting

    /// Throws if a transfer in flight can never complete because its peer is done.
    void require_possible(const transfer& t) {
        if (members_->tolerates())
            return;  // the end of a rank ends its transfers, and others may
                     // join
        // A rank that is done still receives messages sent to it, but requests no more.
        const auto is_over = [&](int peer) {
            return has_ended(peer) &&
                   !(t.sends && exchange_.link_to(peer) && exchange_.link_to(peer)->has_output());
        };
        const int peer = t.peer;
        if (peer == rank() || (peer != any_rank && !is_over(peer))) return;
        if (peer == any_rank) {
            if (size() == 1) return;
            for (int other = 0; other < size(); ++other)
                if (other != rank() && !is_over(other)) return;
        }
        const int gone = peer == any_rank ? (rank() == 0 ? 1 : 0) : peer;
        members_.accuse_if_left(gone);
        if (members_.is_alive(gone) && ended_.passed(now()))
            members_.accuse(gone, "it withdrew from the job");
        if (members_->first_failure()) raise();
    }

    /// Moves bytes until `done`. Throws at the deadline, or when a rank failed. If `settles` is
    /// true, a failure does not end the wait, because the result is decided in spite of it. A rank
    /// that is late at the deadline counts as failed. The wait then takes up to the same time
    /// again, and at least 10 s.
    template <class Done, class Describe, class Check>
    void block(Done done, const int& peer, Describe describe_it, Check check,
               bool settles = false) {
        const time_point started = now();
        deadline limit(started, options_.timeout);
        members_->wait_for(peer);
        for (bool late = false; true;) {
            move();
            if (done()) break;
            if (members_->first_failure() && !settles) raise();
            check();
            const time_point present = now();
            if (limit.passed(present)) {
                if (!members_->first_failure()) be_late(peer, describe_it());
                if (!members_->tolerates() && (!settles || std::exchange(late, true))) raise();
                limit = deadline(present, (std::max<duration>)(options_.timeout, settling));
            }
            // For ranks that wait for this one.
            if (present - started >= options_.heartbeat) members_.tick_if_due(present);
            pause(present - started, limit.next_look());
        }
        members_->wait_for(waits_for_no_rank);
        // Others may have a heartbeat that names the awaited rank. Correct it now: no thread sends
        // another one.
        if (now() - started >= options_.heartbeat) members_.tick_and_speak();
    }

    void pause(duration waited, time_point until) {
        library_.pause(waited, streams_.move(packet_kind::messages), until);
    }

    /// True if nothing more can arrive from a rank.
    bool has_ended(int peer) {
        if constexpr (!Library::drains) return !members_.is_alive(peer);
        const stream* const s = streams_.find(peer, packet_kind::messages);
        return s && s->ended();
    }

    /// Reports a rank as late. While ranks may leave and return, only the awaited rank is dropped.
    void be_late(int peer, const std::string& what) {
        const std::string how = waited_in_vain(Library::name, rank(), options_.timeout, what);
        const bool alone = members_->tolerates();
        if (alone && peer < 0) throw error(errc::timed_out, Library::name + (": " + how));
        members_.accuse(alone ? peer : members_->end_of_chain(peer), "it was late: " + how,
                        errc::timed_out);
    }

    [[noreturn]] void raise() {
        members_.speak();
        withdraw();  // first: the caller's memory is freed while the exception unwinds
        const auto why = members_->first_failure();
        throw peer_failure(why->rank, why->cause, phase_, why->code);
    }

    // Ending

    void take_memory_back() {
        const auto lent_to = [&]() -> std::optional<int> {
            std::optional<int> found;
            streams_.for_each(packet_kind::messages, [&](int peer, stream& s) {
                s.finish();
                if (s.borrows()) found = peer;
            });
            return found;
        };
        const time_point started = now();
        deadline limit(started, options_.timeout);
        while (const auto peer = lent_to()) {
            const time_point present = now();
            if (limit.passed(present) || has_waited_enough(present))
                throw error(errc::timed_out,
                            "memory cannot be given back: a message to or from rank " +
                                std::to_string(*peer) + " is still under way" + ending_cause());
            pause(present - started, limit.next_look());
            move();
        }
    }

    void leave() noexcept {
        withdraw();
        try {
            members_->leave();
            if constexpr (!Library::drains) {
                members_.speak();
                return library_.served_by({});
            }
            const time_point started = now();
            while (true) {
                move();
                const bool silent = members_.fall_silent();
                const auto missing = first_not_over();
                const bool failed = members_->first_failure().has_value();
                if (silent && !missing && (failed || !library_.busy())) return;
                const time_point present = now();
                if (has_waited_enough(present))
                    throw error(errc::timed_out, "rank " +
                                                     std::to_string(missing.value_or(rank())) +
                                                     " does not leave" + ending_cause());
                pause(present - started, ends_by_ ? ends_by_->next_look() : (time_point::max)());
            }
        } catch (const std::exception& e) {
            library_.end_job(e.what());
        }
    }

    /// True if the other ranks have had enough time to end after a failure: as much as one call may
    /// block. A late rank has already had that time. It gets 5 s, because no rank can end without
    /// it.
    bool has_waited_enough(time_point present) {
        const auto& why = members_->first_failure();
        if (!why) return false;
        if (!ends_by_) {
            ends_by_.emplace(present, options_.timeout);
            late_ends_by_.emplace(present, (std::min<duration>)(options_.timeout, late_grace));
        }
        const bool all_had = ends_by_->passed(present), late_had = late_ends_by_->passed(present);
        const bool is_late =
            why->code == errc::timed_out && why->rank != rank() && !has_ended(why->rank);
        return is_late ? late_had : all_had;
    }

    /// A rank that has not reported that it is done, or to which packets are in flight.
    std::optional<int> first_not_over() {
        std::optional<int> found;
        for (const packet_kind kind : packet_kinds)
            members_.for_each_other([&](int peer) {
                const stream& s = streams_.of(peer, kind);
                if (!found && (!s.ended() || s.is_sending())) found = peer;
            });
        return found;
    }

    std::string ending_cause() const {
        const auto& why = members_->first_failure();
        return why ? ", after rank " + std::to_string(why->rank) + " failed: " + why->cause
                   : std::string();
    }

    Library library_;
    packet_options options_;
    message_exchange exchange_;
    packet_streams<Library> streams_;
    packet_membership<Library> members_;
    ballot* everyone_ = nullptr;
    bool withdrawn_ = false;
    unwinding unwinding_;
    owner_process owner_;
    peer_failure::job_phase phase_;
    time_point moved_at_{};
    deadline ended_;  // for the cause from the rank whose messages ended last
    std::optional<deadline> ends_by_, late_ends_by_;  // limits after a failure
};

}  // namespace sotto::detail::net
