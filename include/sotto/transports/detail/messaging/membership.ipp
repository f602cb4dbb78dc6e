#pragma once

#include "sotto/transports/detail/messaging/membership.hpp"

#include <algorithm>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

SOTTO_DECL bool membership::ballot::has(int rank) const noexcept {
    return std::binary_search(members.begin(), members.end(), rank);
}

SOTTO_DECL bool membership::ballot::misses(int rank) const noexcept {
    return of[static_cast<std::size_t>(rank)].cast <= completed;
}

SOTTO_DECL void membership::received(int from, byte_view piece, time_point now) {
    peer& p = at(from);
    if (p.is != standing::alive) return;
    p.life.heard(clock_.at(now));
    bool is_frame = false;  // a valid frame with refused content
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

SOTTO_DECL void membership::count_votes() {
    for (auto& [key, b] : ballots_) complete(b);
}

SOTTO_DECL void membership::closed(int from, const std::string& how) {
    if (at(from).is != standing::alive) return;
    tolerates_ ? lose(from, how, errc::peer_failed) : fail(from, how);
}

SOTTO_DECL void membership::tick(time_point now) {
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

SOTTO_DECL bool membership::is_overdue(int rank, time_point now) {
    return rank != rank_ && at(rank).is == standing::alive &&
           at(rank).life.is_overdue(clock_.at(now), options_);
}

SOTTO_DECL void membership::observe(int rank, const path_facts& path, time_point now) {
    at(rank).life.observe(path, clock_.at(now));
}

SOTTO_DECL void membership::fail(int rank, std::string cause, errc code) {
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

SOTTO_DECL std::optional<membership::failure> membership::next_gone() {
    if (gone_ranks_.empty()) return std::nullopt;
    failure first = std::move(gone_ranks_.front());
    gone_ranks_.pop_front();
    return first;
}

SOTTO_DECL void membership::readmit(int rank, control_stream stream, time_point now) {
    at(rank) = {.stream = std::move(stream), .life = liveness(clock_.at(now)), .is_anew = true};
    ++version_;
}

SOTTO_DECL bool membership::is_voteless(int rank) const noexcept {
    return at(rank).is != standing::alive || at(rank).is_anew;
}

SOTTO_DECL void membership::leave() {
    if (gone_) return;
    gone_ = true;
    const bytes polls = report_of(polls_known());
    for_each_other([&](peer& p) { say(p, {.type = wire::frame_type::leave}, polls); });
}

SOTTO_DECL int membership::end_of_chain(int rank) const noexcept {
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

SOTTO_DECL membership::ballot& membership::open(std::span<const int> members, std::uint32_t label) {
    const std::uint64_t key = key_of(members, label);
    if (!ballots_.contains(key) && ballots_.size() >= wire::report_polls_max)
        throw invalid_option("transport: more than 4096 groups that vote");
    ballot& b = ballot_of(key);
    b.members.assign(members.begin(), members.end());
    b.counted = 0;
    return b;
}

SOTTO_DECL std::uint64_t membership::vote(ballot& b, bool yes) {
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

SOTTO_DECL int membership::first_voteless(const ballot& b) const noexcept {
    const int absent = tolerates_ ? first_absent(b) : nobody;
    return absent != nobody && is_voteless(absent) ? absent : nobody;
}

SOTTO_DECL int membership::first_absent(const ballot& b) const noexcept {
    int absent = nobody;
    for (std::size_t i = b.counted; i < b.members.size(); ++i) {
        if (votes_of(b, i).cast > b.completed) continue;
        const int member = b.members[i];
        if (is_voteless(member)) return member;
        if (absent == nobody) absent = member;
    }
    return absent;
}

SOTTO_DECL bool membership::settled() const noexcept {
    if (!first_) return false;
    if (at(rank_).is == standing::failed) return true;  // the others settle it without this rank
    for (int other = 0; other < size(); ++other)
        if (other != rank_ && at(other).is == standing::alive && at(other).knows != known_)
            return false;
    return true;
}

SOTTO_DECL int membership::rank_of(const peer& p) const noexcept {
    int rank = 0;
    while (&at(rank) != &p) ++rank;
    return rank;
}

SOTTO_DECL void membership::lose(int rank, std::string cause, errc code) {
    if (at(rank).is == standing::failed) return;
    at(rank).is = standing::failed;
    gone_ranks_.push_back({rank, std::move(cause), code});
    ++version_;
}

SOTTO_DECL void membership::say(peer& to, const wire::frame_header& header, byte_view payload) {
    to.stream.send(header, payload);
    ++said_;
}

SOTTO_DECL std::uint64_t membership::key_of(std::span<const int> members, std::uint32_t label) {
    std::vector<std::uint32_t> words{label};
    for (const int member : members) words.push_back(static_cast<std::uint32_t>(member));
    bytes content(4 * words.size());
    wire::store_little_endian(content.data(), std::span<const std::uint32_t>(words));
    return wire::frame_digest(content, 0);
}

SOTTO_DECL membership::ballot& membership::ballot_of(std::uint64_t key) {
    const auto [found, is_new] = ballots_.try_emplace(key);
    if (is_new) {
        found->second.key = key;
        found->second.of.resize(peers_.size());
    }
    return found->second;
}

SOTTO_DECL int membership::first_at_work() const noexcept {
    for (int other = 0; other < size(); ++other)
        if (other != rank_ && at(other).is == standing::alive &&
            at(other).waits_for == waits_for_no_rank)
            return other;
    return (rank_ + 1) % size();
}

SOTTO_DECL std::optional<fault> membership::heed(int from, const wire::frame_header& h,
                                                 byte_view payload) {
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

SOTTO_DECL std::optional<fault> membership::note_waiting(peer& p,
                                                         const wire::frame_header& h) noexcept {
    if (h.value > peers_.size() + 1)
        return fault{40, "a rank plus 2", static_cast<std::int64_t>(h.value)};
    p.waits_for = static_cast<int>(h.value) - 2;
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> membership::count(int from, const wire::frame_header& h) {
    if (first_) return std::nullopt;  // too late: others have been notified of the complete polls
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

SOTTO_DECL const membership::ballot::votes& membership::votes_of(const ballot& b,
                                                                 std::size_t member) noexcept {
    return b.of[static_cast<std::size_t>(b.members[member])];
}

SOTTO_DECL void membership::complete(ballot& b) noexcept {
    if (first_ || b.members.empty()) return;
    for (; b.counted < b.members.size(); ++b.counted)
        if (votes_of(b, b.counted).cast <= b.completed) return;
    b.verdict = true;
    for (; b.counted > 0; --b.counted)
        b.verdict &= votes_of(b, b.counted - 1).latest[b.completed % 2];
    ++b.completed;
    ++version_;
}

SOTTO_DECL std::optional<fault> membership::learn(peer& from, byte_view payload) {
    ++version_;
    auto report = wire::read_report(payload, static_cast<std::uint32_t>(size()));
    if (!report) return report.why();
    if (report->failed.empty()) return fault{12, "1 to all ranks that failed", 0};
    report->cause = printable(report->cause);  // callbacks and logs print it
    if (tolerates_) {  // it may report only its own failure, or that it dropped this rank
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

SOTTO_DECL result<bool> membership::adopt(std::span<const wire::membership_report::poll> polls) {
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

SOTTO_DECL std::optional<fault> membership::depart(peer& p, byte_view payload) {
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

SOTTO_DECL wire::membership_report membership::polls_known() const {
    wire::membership_report known;
    for (const auto& [key, b] : ballots_)
        if (b.completed > 0) known.polls.push_back({key, b.completed, b.verdict});
    return known;
}

SOTTO_DECL bytes membership::report_of(const wire::membership_report& report) {
    bytes payload;
    wire::append_report(report, payload);
    return payload;
}

SOTTO_DECL void membership::tell() {
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

}  // namespace sotto::detail::net
