#pragma once

#include "sotto/strategies/detail/gossip/gossip_peers.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail {

SOTTO_DECL gossip_peers::gossip_peers(transport_ref through, duration patience)
    : through_(through),
      says_(diagnostics::of(through)),
      patience_(patience),
      progress_(through.size()),
      peers_(through.size(), through.rank()),
      verdicts_(through.size()),
      mail_(through),
      handover_(through, mail_) {
    through.tolerate();
    through.reserve(8 + 2 * std::int64_t{through.size()});
    went_.reserve(static_cast<std::size_t>(through.size()));
}

SOTTO_DECL void gossip_peers::introduce(const std::string& configuration) {
    configuration_ = wire::frame_digest(std::as_bytes(std::span(configuration)), 0);
}

SOTTO_DECL fit_start gossip_peers::begin(std::span<float> parameters, std::span<float> buffers) {
    handover_.hold(parameters, buffers);
    losses_.begin(through_.now());
    ++fit_;
    rounds_ = 0;
    is_done_ = false;
    if (source_.fit > fit_) return is_over();
    begins_ = true;
    peers_.for_each([](peer& p) { p.takes_part = p.is_done = p.has_answered = false; });
    for (int rank = 0; rank < through_.size(); ++rank) verdicts_.forget(rank);
    // Before any answer: who is told that this rank begins may go on at once.
    peers_.for_each_here([&](int rank) { say(rank, {.kind = wire::gossip_kind::hello}); });
    wait_until([&] { return peers_.for_all_here([](const peer& p) { return p.has_answered; }); });
    if (!has_trained_) fetch();
    begins_ = false;
    if (source_.fit > fit_) {
        leave();
        return is_over();
    }
    if (source_.fit == fit_) rounds_ = source_.rounds;
    has_trained_ |= source_.fit > 0;
    source_ = {};
    takes_part_ = tells_all_ = true;
    return {.rounds = static_cast<std::int64_t>(rounds_)};
}

SOTTO_DECL void gossip_peers::finish() {
    is_done_ = true;
    peers_.for_each_here([&](int rank) { say(rank, {.kind = wire::gossip_kind::done}); });
    const bool all_done = comes([&] {
        return handover_.is_idle() && mail_.is_all_said() &&
               peers_.for_all_here([](const peer& p) { return !p.mixes(); });
    });
    peers_.for_each_here([&](int rank) {
        if (all_done || !of(rank).mixes()) return;
        losses_.add(rank, patience_.cause(), step_, through_.now());
        says_.say("ends without rank " + std::to_string(rank) + ": " + patience_.cause());
    });
    mail_.close(taking());
}

SOTTO_DECL round_info gossip_peers::begin_step(round_info where, double pace) noexcept {
    place_.round = 0;
    if (const auto least = peers_.earliest_step()) step_ = (std::max)(step_, *least);
    place_.step = step_;
    own_clock_ = {fit_, step_, where.epoch, pace};
    agrees_ = sums_up_ && clock_.fit != fit_;
    return next_step(where, 0);
}

SOTTO_DECL round_info gossip_peers::next_step(round_info where,
                                              std::uint64_t later) const noexcept {
    where.step = static_cast<std::int64_t>(step_ + later);
    where.epoch = (clock_.fit == fit_ ? clock_ : own_clock_).epoch_of(step_ + later);
    return where;
}

SOTTO_DECL std::optional<bool> gossip_peers::is_to_mix() const noexcept {
    if (verdicts_.decided().round == 0 || verdicts_.decided().step + 1 != step_)
        return std::nullopt;
    return !verdicts_.last().skips_next;
}

SOTTO_DECL void gossip_peers::end_step() noexcept {
    ++step_;
    ++rounds_;
    has_trained_ = true;
}

SOTTO_DECL void gossip_peers::begin_round(const sotto::topologies::mixing_matrix& matrix) {
    place_ = next_round();
    went_.clear();
    peers_.for_each([](peer& p) { p.is_awaited = false; });
    for (const auto& n : matrix.into(through_.rank())) of(n.rank).is_awaited = of(n.rank).mixes();
    of(through_.rank()).links = topologies::live_links_of(
        matrix, through_.rank(), [&](int rank) { return of(rank).is_awaited; });
    const bool to_all = std::exchange(tells_all_, false);
    peers_.for_each_here([&](int rank) {
        const peer& p = of(rank);
        if (to_all || p.is_done || (p.is_neighbour && p.takes_part))
            say(rank, {.kind = wire::gossip_kind::begins, .waits = p.is_awaited});
    });
    if (sums_up_) stand();
}

SOTTO_DECL bool gossip_peers::takes_part(int rank) const noexcept {
    const peer& p = of(rank);
    return p.is_awaited && p.mixes() && p.said == place_ && p.awaits;
}

SOTTO_DECL void gossip_peers::serve() {
    if (through_.size() == 1) return;
    hear();
    while (auto change = through_.next_change()) {
        if (!change->is_here) hear();  // what it had sent before it went
        note(*change);
    }
    answer_all();
    handover_.hand_over([&](int to) {
        say(to, {.kind = wire::gossip_kind::hands, .at = {step_, 0}});
    });
    if (sums_up_) sum_up();
    (void)mail_.is_all_said();
}

SOTTO_DECL void gossip_peers::say(int to, wire::gossip_word w) {
    w.has_trained = has_trained_;
    w.takes_part = takes_part_ || begins_;
    w.is_done = is_done_;
    w.fit = fit_;
    w.rounds = rounds_;
    w.since = since_;
    if (w.kind != wire::gossip_kind::hands) w.at = place_;
    w.links = static_cast<std::uint32_t>(of(through_.rank()).links.count);
    w.lost = of(through_.rank()).links.lost;
    verdicts_.tell(w);
    w.clock = clock_;
    w.configuration = configuration_;
    mail_.say(to, w);
}

SOTTO_DECL void gossip_peers::take(int from, const wire::gossip_word& w) {
    peer& p = of(from);
    progress_.tells(from, w);
    p.at = w.at;
    p.fit = w.fit;
    p.since = w.since;
    p.has_trained = w.has_trained;
    verdicts_.hear(w);
    if (w.clock.fit > clock_.fit) clock_ = w.clock;
    switch (w.kind) {
        case wire::gossip_kind::hello:
            p.is_done = p.takes_part = false;
            p.asks_where = true;
            p.is_alike = w.configuration == configuration_;
            break;
        case wire::gossip_kind::here:
            p.is_alike = w.configuration == configuration_;
            if (!p.is_alike && (w.has_trained || !has_trained_)) refuse(from);
            if (!std::exchange(p.has_answered, true)) progress_.comes();
            p.is_done = w.is_done;
            p.takes_part = w.takes_part && p.is_alike;
            break;
        case wire::gossip_kind::asks: handover_.is_asked_by(from); break;
        case wire::gossip_kind::hands:
            progress_.comes();
            handover_.is_handed_by(from, w);
            break;
        case wire::gossip_kind::begins:
            p.said = w.at;
            p.awaits = w.waits;
            p.links = {static_cast<int>((std::min)(w.links, 1u << 30)), w.lost};
            // It may wait for a round that this rank began without it.
            if (!std::exchange(p.takes_part, true) && takes_part_ && !begins_ && !is_done_)
                say(from, {.kind = wire::gossip_kind::begins});
            break;
        case wire::gossip_kind::stands: verdicts_.stands(from, w.at, w.waits, w.own); break;
        case wire::gossip_kind::verdict: break;
        case wire::gossip_kind::done:
            p.is_done = true;
            verdicts_.forget(from);
            break;
    }
}

SOTTO_DECL void gossip_peers::refuse(int other) const {
    throw mismatch("gossip: ranks " + std::to_string(through_.rank()) + " and " +
                   std::to_string(other) +
                   " are configured differently: their model, strategy or training options");
}

SOTTO_DECL void gossip_peers::answer_all() {
    peers_.for_each_here([&](int rank) {
        peer& p = of(rank);
        if (!p.asks_where || p.fit > fit_) return;
        p.asks_where = false;
        p.takes_part = begins_ && p.fit == fit_ && p.is_alike;
        say(rank, {.kind = wire::gossip_kind::here});
    });
}

SOTTO_DECL void gossip_peers::note(const rank_change& change) {
    peer& p = of(change.rank);
    if (!change.left && !p.is_done)
        says_.say("rank " + std::to_string(change.rank) +
                  (change.is_here ? " is there" : " went: " + change.cause));
    if (!change.is_here) {
        went_.push_back(change.rank);
        handover_.forget(change.rank);
        progress_.goes(change.rank);
        if (!change.left && !p.is_done)
            losses_.add(change.rank, change.cause, step_, through_.now());
    } else {
        losses_.returns(change.rank, step_);
    }
    verdicts_.forget(change.rank);
    p = {.is_here = change.is_here, .is_neighbour = p.is_neighbour, .has_answered = change.is_here};
}

SOTTO_DECL std::int64_t gossip_peers::progress() {
    const traffic all = through_.counters();
    return all.bytes_sent + all.bytes_received - mail_.bytes() - handover_.bytes() +
           progress_.count();
}

SOTTO_DECL int gossip_peers::awaited() const {
    if (const auto unknown = first_unknown()) return *unknown;
    if (begins_) {
        const auto silent = peers_.first_here([](const peer& p) { return !p.has_answered; });
        return silent ? *silent : handover_.source();
    }
    if (const int sums = sums_for_all(); sums != through_.rank()) return sums;
    return peers_.first_here([](const peer& p) { return p.mixes(); }).value_or(through_.rank());
}

SOTTO_DECL void gossip_peers::give_up() {
    const int late = awaited();
    const std::string cause = patience_.cause();
    through_.fail("rank " + std::to_string(late) + " " + cause);
    throw peer_failure(late, cause, now_, errc::timed_out);
}

SOTTO_DECL fit_start gossip_peers::is_over() const noexcept {
    return {.is_over = true, .steps = static_cast<std::int64_t>(source_.at.step - source_.rounds)};
}

SOTTO_DECL void gossip_peers::leave() {
    wait_until([&] { return handover_.is_idle() && mail_.is_all_said(); });
    mail_.close(taking());
}

SOTTO_DECL void gossip_peers::fetch() {
    while (const auto from = peers_.best_source()) {
        handover_.fetch(*from, [&](int of) { say(of, {.kind = wire::gossip_kind::asks}); });
        wait_until([&] { return handover_.is_fetched(); });
        const auto handed = handover_.handed();
        if (!handed) continue;
        if (!handover_.take()) refuse(*from);
        source_ = *handed;
        step_ = handed->at.step;
        since_ = step_ + 1;
        says_.say(std::string("came while others train: ") +
                  (source_.fit > fit_ ? "passes a call of fit" : "goes on") +
                  " with the parameters of rank " + std::to_string(*from) + ", after its step " +
                  std::to_string(step_));
        return;
    }
}

SOTTO_DECL void gossip_peers::stand() {
    told_ = sums_for_all();
    stand_here();
    // Who went for this rank alone may still sum up for others: their verdicts then hold here.
    const bool to_all = told_ == through_.rank() && !losses_.all().empty();
    peers_.for_each_here([&](int rank) {
        if (rank == told_ || (to_all && of(rank).mixes()))
            say(rank, {.kind = wire::gossip_kind::stands, .waits = waits_, .own = own_});
    });
}

SOTTO_DECL void gossip_peers::sum_up() {
    if (takes_part_ && !is_done_ && sums_for_all() != told_) stand();
    // Those in an earlier round than this rank have nobody to do another with.
    while (const auto due = due_here()) {
        if (waits_ && due->at >= place_) break;
        verdicts_.decide(*due);
    }
    answer_waiting();
}

SOTTO_DECL std::optional<sum_coordinator::due> gossip_peers::due_here() const {
    if (is_done_ || sums_for_all() != through_.rank()) return std::nullopt;
    return verdicts_.next([&](int rank) { return rank == through_.rank() || of(rank).mixes(); });
}

SOTTO_DECL void gossip_peers::answer_waiting() {
    verdicts_.answer([&](int rank) {
        if (rank != through_.rank()) say(rank, {.kind = wire::gossip_kind::verdict});
    });
}

}  // namespace sotto::detail
