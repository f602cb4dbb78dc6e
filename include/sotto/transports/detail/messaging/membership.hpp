#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/control_stream.hpp"
#include "sotto/transports/detail/messaging/liveness.hpp"
#include "sotto/transports/detail/messaging/membership_words.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/protocols/membership_report.hpp"

namespace sotto::detail::net {

/// Who is alive, what was voted, and who failed first: the same answers at every survivor. Without
/// input, output or clock: frames go in and out by `streams`, time is told.
///
/// A poll is complete at a rank once every member's vote is there. When a rank fails, some may have
/// its vote and others not. So whoever hears of a failure stops counting votes and tells all others
/// what it knows: who failed and which polls are complete. It takes over what others knew, and says
/// so again. Once all that live know the same it is settled: a poll that one of them completed is
/// complete for all, and any other never will be. Further failures meanwhile begin it anew. A rank
/// that leaves says what it knows as well. Of ranks that fail at the same time some may name one
/// and some another as the first.
///
/// A rank is missed when it gives no sign of life for too long, see liveness. Time in which this
/// process is halted does not count.
///   wire    frames of heartbeat, vote, report and leave, see wire/detail/protocols/frame.hpp
///   cost    a vote: 64 bytes to every other rank; a failure: a report to every other rank for each
///           thing that is new to one, at most twice the ranks times the failures
class membership {
public:
    enum class standing : std::uint8_t { alive, left, failed };

    struct failure {
        int rank = 0;
        std::string cause;
        errc code = errc::peer_failed;
    };

    struct ballot {
        std::uint64_t key = 0;
        std::vector<int> members;  // ascending; empty: others have opened it, this rank not yet
        struct votes {
            std::uint64_t cast = 0;
            bool latest[2] = {true, true};  // of even and of odd polls: nobody is further ahead
        };
        std::vector<votes> of;        // by rank
        std::uint64_t completed = 0;  // polls
        std::size_t counted = 0;      // the first members, whose votes in the next one are there
        bool verdict = true;          // of the last complete poll

        bool has(int rank) const noexcept {
            return std::binary_search(members.begin(), members.end(), rank);
        }
        /// Whether its vote in the next poll is not there.
        bool misses(int rank) const noexcept {
            return of[static_cast<std::size_t>(rank)].cast <= completed;
        }
    };

    /// `seeds(from, to)`: of the digests in that direction.
    template <class Seeds>
    membership(int rank, int size, std::uint32_t epoch, const liveness_options& options,
               Seeds seeds, time_point now)
        : rank_(rank),
          options_(options),
          clock_(now, (options.silence() / 2 + options.period()) / 4),
          beat_(now) {
        const auto count = static_cast<std::size_t>(size);
        const std::size_t payload_max = wire::report_bytes_max(count);
        for (int other = 0; other < size; ++other) {
            peers_.push_back(
                {.stream = {epoch, seeds(rank, other), seeds(other, rank), payload_max},
                 .life = liveness(duration::zero())});
        }
    }

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(peers_.size()); }

    // What happens

    /// Bytes came from a rank. Votes take effect by `count_votes`.
    void received(int from, byte_view piece, time_point now) {
        peer& p = at(from);
        if (p.is != standing::alive) return;
        p.life.heard(clock_.at(now));
        bool is_frame = false;  // what is refused
        const auto why = p.stream.received(
            piece, [&](const wire::frame_header& h, byte_view payload) -> std::optional<fault> {
                const auto refused = heed(from, h, payload);
                is_frame = refused.has_value();
                return refused;
            });
        if (why)
            fail(from, "it sent what is no frame: " + why->text(),
                 is_frame ? errc::malformed : errc::altered);
    }

    /// Completes polls, once all that has come from all ranks was handed in: word that this rank
    /// was taken for dead while it hung outruns the votes that came before.
    void count_votes() {
        for (auto& [key, b] : ballots_) complete(b);
    }

    /// Its connection ended.
    void closed(int from, const std::string& how) {
        if (at(from).is != standing::alive) return;
        tolerates_ ? lose(from, how, errc::peer_failed) : fail(from, how);
    }

    /// Time passes: says that this rank lives, and misses those that do not.
    void tick(time_point now) {
        const duration present = clock_.at(now);
        if (now - beat_ >= options_.period()) {
            beat_ = now;
            for_each_other([&](peer& p) {
                say(p, {.type = wire::frame_type::heartbeat,
                        .value = static_cast<std::uint64_t>(waits_for_ + 2)});
            });
        }
        for (int other = 0; other < size(); ++other)
            if (const peer& p = at(other);
                other != rank_ && p.is == standing::alive && p.life.is_lost(present, options_))
                fail(other, p.life.cause(options_));
    }

    /// What limits the silence of a rank, see liveness.
    const liveness& life_of(int rank) const noexcept { return at(rank).life; }
    const liveness_options& options() const noexcept { return options_; }

    /// Whether frames of a rank are missing: then `observe` may find other signs of life.
    bool is_overdue(int rank, time_point now) {
        return rank != rank_ && at(rank).is == standing::alive &&
               at(rank).life.is_overdue(clock_.at(now), options_);
    }
    /// What is known of the connections to a rank that is overdue.
    void observe(int rank, const path_facts& path, time_point now) {
        at(rank).life.observe(path, clock_.at(now));
    }

    time_point next_tick() const noexcept { return beat_ + options_.period(); }
    /// Time that counts toward limits: a halt of this process does not.
    duration counted(time_point now) noexcept { return clock_.at(now); }

    /// From now on a rank that fails is only gone, for this rank alone: nothing is told to others.
    /// That rank is told, as far as it can be: it may live, and is not to wait for this one.
    void tolerate() noexcept { tolerates_ = true; }
    bool tolerates() const noexcept { return tolerates_; }

    /// A rank failed, this one perhaps. The first failure is told to all.
    void fail(int rank, std::string cause, errc code = errc::peer_failed) {
        if (at(rank).is == standing::failed) return;
        if (tolerates_ && rank != rank_) {
            const auto gone = static_cast<std::uint32_t>(rank);
            say(at(rank), {.type = wire::frame_type::report},
                report_of({gone, static_cast<std::uint8_t>(code), cause, {gone}, {}}));
            return lose(rank, std::move(cause), code);
        }
        if (!first_) first_ = {rank, std::move(cause), code};
        at(rank).is = standing::failed;
        tell();
    }

    /// The next rank that went while that is tolerated; with no code where it is done.
    std::optional<failure> next_gone() {
        if (gone_ranks_.empty()) return std::nullopt;
        failure first = std::move(gone_ranks_.front());
        gone_ranks_.pop_front();
        return first;
    }

    /// Another process is this rank now. It knows of no poll before: it has no vote, here or there.
    void readmit(int rank, control_stream stream, time_point now) {
        at(rank) = {.stream = std::move(stream), .life = liveness(clock_.at(now)), .is_anew = true};
        ++version_;
    }

    /// Whether no vote will come from a rank.
    bool is_voteless(int rank) const noexcept {
        return at(rank).is != standing::alive || at(rank).is_anew;
    }

    /// This rank is done.
    void leave() {
        if (gone_) return;
        gone_ = true;
        const bytes polls = report_of(polls_known());
        for_each_other([&](peer& p) { say(p, {.type = wire::frame_type::leave}, polls); });
    }

    /// Whom this rank waits for, for others that wait for it.
    void wait_for(int rank) noexcept { waits_for_ = rank; }

    /// If 0 waits for 1 and 1 for 2, then 2 is late and not 1. Who waits for anybody waits for
    /// those who do not wait.
    int end_of_chain(int rank) const noexcept {
        int late = rank == any_rank ? first_at_work() : rank;
        const int first = late;
        for (int steps = 0; steps < size(); ++steps) {
            if (late == rank_) return first;
            const int next = at(late).waits_for;
            if (next < 0) return late;
            late = next;
        }
        return first;
    }

    // Votes

    /// The ballot of these ranks (ascending) with this label.
    ///   errors  invalid_option: there are 4096 others
    ballot& open(std::span<const int> members, std::uint32_t label) {
        const std::uint64_t key = key_of(members, label);
        if (!ballots_.contains(key) && ballots_.size() >= wire::report_polls_max)
            throw invalid_option("transport: more than 4096 groups that vote");
        ballot& b = ballot_of(key);
        b.members.assign(members.begin(), members.end());
        b.counted = 0;
        return b;
    }

    /// Votes; returns the number of the poll, which is complete once b.completed exceeds it.
    std::uint64_t vote(ballot& b, bool yes) {
        ballot::votes& own = b.of[static_cast<std::size_t>(rank_)];
        const std::uint64_t poll = own.cast;
        own.latest[poll % 2] = yes;
        ++own.cast;
        for (const int member : b.members)
            if (member != rank_ && !is_voteless(member))
                say(at(member), {.type = wire::frame_type::vote,
                                 .item = yes ? 1u : 0u,
                                 .round = poll,
                                 .value = b.key});
        complete(b);
        return poll;
    }

    /// Where ranks may come and go: a member whose vote will not come, or -1.
    int first_voteless(const ballot& b) const noexcept {
        const int absent = tolerates_ ? first_absent(b) : nobody;
        return absent != nobody && is_voteless(absent) ? absent : nobody;
    }

    /// A member whose vote is missing: rather one from which none comes than one that may vote.
    int first_absent(const ballot& b) const noexcept {
        int absent = nobody;
        for (std::size_t i = b.counted; i < b.members.size(); ++i) {
            if (votes_of(b, i).cast > b.completed) continue;
            const int member = b.members[i];
            if (is_voteless(member)) return member;
            if (absent == nobody) absent = member;
        }
        return absent;
    }

    // What is so

    /// The first failure that this rank heard of.
    const std::optional<failure>& first_failure() const noexcept { return first_; }
    standing of(int rank) const noexcept { return at(rank).is; }
    bool anybody_left() const noexcept { return anybody_left_; }
    /// Grows when a poll is complete, a rank fails or leaves, or more is known after a failure.
    std::uint64_t version() const noexcept { return version_; }
    control_stream& stream(int to) noexcept { return at(to).stream; }
    /// Frames that this rank had to say so far.
    std::uint64_t said() const noexcept { return said_; }

    /// After a failure: whether everybody who lives knows the same.
    bool settled() const noexcept {
        if (!first_) return false;
        if (at(rank_).is == standing::failed) return true;  // the others settle it without this one
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is == standing::alive && at(other).knows != known_)
                return false;
        return true;
    }

private:
    static constexpr int nobody = -1;

    struct peer {
        control_stream stream;
        liveness life;
        standing is = standing::alive;
        bool is_anew = false;  // another process was this rank
        int waits_for = waits_for_nobody;
        std::optional<wire::membership_report> knows{};  // but for first, code and cause
    };

    int rank_of(const peer& p) const noexcept {
        int rank = 0;
        while (&at(rank) != &p) ++rank;
        return rank;
    }
    peer& at(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    const peer& at(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)]; }

    template <class Visitor>
    void for_each_other(Visitor&& visit) {
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is == standing::alive) visit(at(other));
    }

    /// Once: what came with one frame may hold more of them.
    void lose(int rank, std::string cause, errc code) {
        if (at(rank).is == standing::failed) return;
        at(rank).is = standing::failed;
        gone_ranks_.push_back({rank, std::move(cause), code});
        ++version_;
    }

    void say(peer& to, const wire::frame_header& header, byte_view payload = {}) {
        to.stream.send(header, payload);
        ++said_;
    }

    static std::uint64_t key_of(std::span<const int> members, std::uint32_t label) {
        std::vector<std::uint32_t> words{label};
        for (const int member : members) words.push_back(static_cast<std::uint32_t>(member));
        bytes content(4 * words.size());
        wire::store_little_endian(content.data(), std::span<const std::uint32_t>(words));
        return wire::frame_digest(content, 0);
    }

    ballot& ballot_of(std::uint64_t key) {
        const auto [found, is_new] = ballots_.try_emplace(key);
        if (is_new) {
            found->second.key = key;
            found->second.of.resize(peers_.size());
        }
        return found->second;
    }

    int first_at_work() const noexcept {
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is == standing::alive &&
                at(other).waits_for == waits_for_nobody)
                return other;
        return (rank_ + 1) % size();
    }

    /// Takes a frame that is whole; refuses what it means.
    std::optional<fault> heed(int from, const wire::frame_header& h, byte_view payload) {
        switch (h.type) {
            case wire::frame_type::heartbeat: return note_waiting(at(from), h);
            case wire::frame_type::vote: return count(from, h);
            case wire::frame_type::report: return learn(at(from), payload);
            case wire::frame_type::leave: return depart(at(from), payload);
            default:
                return fault{3, "a frame about the membership, of type 6 to 9",
                             static_cast<std::int64_t>(h.type)};
        }
    }

    std::optional<fault> note_waiting(peer& p, const wire::frame_header& h) noexcept {
        if (h.value > peers_.size() + 1)
            return fault{40, "a rank plus 2", static_cast<std::int64_t>(h.value)};
        p.waits_for = static_cast<int>(h.value) - 2;
        return std::nullopt;
    }

    std::optional<fault> count(int from, const wire::frame_header& h) {
        if (first_) return std::nullopt;  // too late: others have been told what is complete
        if (at(from).is_anew) return std::nullopt;
        if (!ballots_.contains(h.value) && ballots_.size() >= wire::report_polls_max)
            return fault{40, "at most 4096 ballots", static_cast<std::int64_t>(h.value)};
        ballot& b = ballot_of(h.value);
        ballot::votes& theirs = b.of[static_cast<std::size_t>(from)];
        if (h.round != theirs.cast || h.round > b.completed + 1)
            return fault{24, "the number of the next poll", static_cast<std::int64_t>(h.round)};
        theirs.latest[h.round % 2] = h.item == 1;
        ++theirs.cast;
        return std::nullopt;
    }

    static const ballot::votes& votes_of(const ballot& b, std::size_t member) noexcept {
        return b.of[static_cast<std::size_t>(b.members[member])];
    }

    void complete(ballot& b) noexcept {
        if (first_ || b.members.empty()) return;
        for (; b.counted < b.members.size(); ++b.counted)
            if (votes_of(b, b.counted).cast <= b.completed) return;
        b.verdict = true;
        for (; b.counted > 0; --b.counted)
            b.verdict &= votes_of(b, b.counted - 1).latest[b.completed % 2];
        ++b.completed;
        ++version_;
    }

    std::optional<fault> learn(peer& from, byte_view payload) {
        ++version_;
        auto report = wire::read_report(payload, static_cast<std::uint32_t>(size()));
        if (!report) return report.why();
        if (report->failed.empty()) return fault{12, "1 to all ranks that failed", 0};
        report->cause = printable(report->cause);  // callbacks and logs show it
        if (tolerates_) {  // it can speak for itself alone, and of what it thinks of this rank
            const int gone = rank_of(from);
            if (report->first == static_cast<std::uint32_t>(gone))
                lose(gone, std::move(report->cause), static_cast<errc>(report->code));
            else if (report->first == static_cast<std::uint32_t>(rank_))
                lose(gone, gave_up_cause + report->cause, errc::peer_failed);
            return std::nullopt;
        }
        bool news = false;
        if (!first_) {
            first_ = {static_cast<int>(report->first), std::move(report->cause),
                      static_cast<errc>(report->code)};
            news = true;
        }
        for (const std::uint32_t rank : report->failed)
            if (peer& p = at(static_cast<int>(rank)); p.is != standing::failed) {
                p.is = standing::failed;
                news = true;
            }
        const result<bool> adopted = adopt(report->polls);
        if (!adopted) return adopted.why();
        news |= *adopted;
        report->first = 0;
        report->code = 0;
        report->cause.clear();
        from.knows = std::move(*report);
        if (news) tell();
        return std::nullopt;
    }

    /// Takes over polls that another rank has seen complete; whether any was news.
    result<bool> adopt(std::span<const wire::membership_report::poll> polls) {
        bool news = false;
        for (const auto& theirs : polls) {
            if (ballots_.size() >= wire::report_polls_max && !ballots_.contains(theirs.ballot))
                return fault{0, "at most 4096 ballots", static_cast<std::int64_t>(ballots_.size())};
            ballot& b = ballot_of(theirs.ballot);
            if (const std::uint64_t cast = b.of[static_cast<std::size_t>(rank_)].cast;
                b.has(rank_) && theirs.completed > cast)
                return fault{0, "no more polls than this rank voted in",
                             static_cast<std::int64_t>(theirs.completed),
                             static_cast<std::int64_t>(cast)};
            if (theirs.completed <= b.completed) continue;
            b.completed = theirs.completed;
            b.verdict = theirs.verdict;
            b.counted = 0;
            news = true;
        }
        return news;
    }

    /// It is done, and leaves behind what it knows: somebody's vote may have come to it alone.
    std::optional<fault> depart(peer& p, byte_view payload) {
        const auto report = wire::read_report(payload, static_cast<std::uint32_t>(size()));
        if (!report) return report.why();
        if (p.is == standing::alive) {
            p.is = standing::left;
            anybody_left_ = true;
            if (tolerates_) gone_ranks_.push_back({rank_of(p), "it left: it is done", errc{}});
        }
        ++version_;
        if (tolerates_) return std::nullopt;  // these polls may be older than this process
        const result<bool> news = adopt(report->polls);
        if (!news) return news.why();
        if (first_ && *news) tell();
        return std::nullopt;
    }

    wire::membership_report polls_known() const {
        wire::membership_report known;
        for (const auto& [key, b] : ballots_)
            if (b.completed > 0) known.polls.push_back({key, b.completed, b.verdict});
        return known;
    }

    static bytes report_of(const wire::membership_report& report) {
        bytes payload;
        wire::append_report(report, payload);
        return payload;
    }

    /// Tells all others what this rank knows, the failed ones too: they may live.
    void tell() {
        ++version_;
        wire::membership_report all = polls_known();
        for (int rank = 0; rank < size(); ++rank)
            if (at(rank).is == standing::failed) all.failed.push_back(static_cast<unsigned>(rank));
        known_ = all;
        all.first = static_cast<std::uint32_t>(first_->rank);
        all.code = static_cast<std::uint8_t>(first_->code);
        all.cause = first_->cause;
        const bytes payload = report_of(all);
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is != standing::left)
                say(at(other), {.type = wire::frame_type::report}, payload);
    }

    int rank_;
    liveness_options options_;
    std::deque<peer> peers_;  // this rank too
    std::map<std::uint64_t, ballot> ballots_;
    std::optional<failure> first_;
    wire::membership_report known_;
    int waits_for_ = waits_for_nobody;
    std::uint64_t version_ = 0;
    std::uint64_t said_ = 0;
    bool gone_ = false;
    bool tolerates_ = false;
    bool anybody_left_ = false;
    std::deque<failure> gone_ranks_;
    waiting_time clock_;  // a halt of this process is no time
    time_point beat_;
};

}  // namespace sotto::detail::net
