#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/strategies/detail/gossip/gossip_mail.hpp"
#include "sotto/strategies/detail/gossip/gossip_patience.hpp"
#include "sotto/strategies/detail/gossip/lost_ranks.hpp"
#include "sotto/strategies/detail/gossip/peer_table.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/gossip/round_verdicts.hpp"
#include "sotto/strategies/detail/gossip/state_handover.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/strategies/detail/gossip/wait_progress.hpp"
#include "sotto/topologies/detail/live_weight.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/remarks.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// Who is there to mix with, where ranks may come and go: one rank's view. Nobody decides for all;
/// what two ranks do together follows from what each has told the other.
///   links   a link mixes in a round if both its ranks have told each other that they begin it. A
///           rank tells so before it knows of others, and waits until each neighbour that it told
///           has begun this round, or a later one, or is gone or done. So both ends know alike
///           whether they mix, and nobody waits for a round that another has passed: who is in the
///           earliest waits for nobody. A rank also tells how many links it begins with, so that
///           both ends find the same weight: topologies::live_weight
///   sums    ranks tell what they add to who sums up: of those that take part and are not done the
///           one who does so for longest, of equals the lowest. It answers the earliest round that
///           is waited for, once nobody could still add to it, and decides for all whether there
///           is another round; of a round that it is past, that there is none. Should it go, all
///           tell the next one where they stand and the last verdict that they know, which then
///           holds. The first verdict of a call of `fit` also says by whose epochs they count
///   coming  a rank that begins asks all where they are, fetches parameters and the model's buffers
///           from the neighbour that is furthest, and takes part with its first round. Who is
///           behind all its neighbours goes on in their step. Calls of `fit` that the neighbour is
///           past are over: it asks again, and fetches anew, in that which the neighbour was in
///   wire    wire::gossip_word: to each neighbour in every round, and two to and from who sums up;
///           state_handover to whoever comes
///   cost    210 bytes for each rank; 4 bytes a parameter once another rank has fetched them
///   errors  peer_failure, errc::timed_out: nothing came that it waits for, for as long as
///           gossip_patience says; mismatch: this rank is configured differently; malformed
class gossip_peers {
public:
    /// Borrows the transport.
    gossip_peers(transport_ref through, duration patience)
        : through_(through),
          says_(remarks::of(through)),
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
    gossip_peers(const gossip_peers&) = delete;
    gossip_peers& operator=(const gossip_peers&) = delete;

    /// What all ranks must be configured as.
    void introduce(const std::string& configuration) {
        configuration_ = wire::frame_digest(std::as_bytes(std::span(configuration)), 0);
    }
    /// Rounds may mix with this rank.
    void may_meet(int rank) noexcept { of(rank).is_neighbour = true; }
    /// Sums will be asked for.
    void will_sum() noexcept { sums_up_ = true; }

    /// A call of `fit` begins with these parameters and buffers of the model, which stay where they
    /// are. Returns how many of its rounds those have had that were fetched, or that it is over.
    fit_start begin(std::span<float> parameters, std::span<float> buffers) {
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
        wait_until(
            [&] { return peers_.for_all_here([](const peer& p) { return p.has_answered; }); });
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

    /// Answers until all that take part are done, or nothing more comes of them: those that are
    /// not are losses.
    void finish() {
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

    /// Returns which step this is for what all decide alike. `pace`: epochs a step, of this rank.
    round_info begin_step(round_info where, double pace) noexcept {
        place_.round = 0;
        if (const auto least = peers_.earliest_step()) step_ = (std::max)(step_, *least);
        place_.step = step_;
        own_clock_ = {fit_, step_, where.epoch, pace};
        agrees_ = sums_up_ && clock_.fit != fit_;
        return next_step(where, 0);
    }
    /// The same, so many steps later.
    round_info next_step(round_info where, std::uint64_t later) const noexcept {
        where.step = static_cast<std::int64_t>(step_ + later);
        where.epoch = (clock_.fit == fit_ ? clock_ : own_clock_).epoch_of(step_ + later);
        return where;
    }
    /// Whether this step sums in any case, as it is not agreed on by whose epochs all count.
    bool agrees() const noexcept { return agrees_; }
    /// Whether this step begins with a round, where the verdict of the step before says so.
    std::optional<bool> is_to_mix() const noexcept {
        if (verdicts_.decided().round == 0 || verdicts_.decided().step + 1 != step_)
            return std::nullopt;
        return !verdicts_.last().skips_next;
    }
    /// The step took place.
    void end_step() noexcept {
        ++step_;
        ++rounds_;
        has_trained_ = true;
    }

    /// Which round of mixing this is.
    wire::gossip_place next_round() const noexcept { return {step_, place_.round + 1}; }
    wire::gossip_place place() const noexcept { return place_; }  // the round that it is in

    /// The next round of the step, by this matrix.
    void begin_round(const sotto::topologies::mixing_matrix& matrix) {
        place_ = next_round();
        went_.clear();
        peers_.for_each([](peer& p) { p.is_awaited = false; });
        for (const auto& n : matrix.into(through_.rank()))
            of(n.rank).is_awaited = of(n.rank).mixes();
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

    /// Whether it is known of all neighbours whether they take part in the round.
    bool knows_all() const noexcept { return !first_unknown(); }
    /// Whether that rank mixes in the round under way.
    bool takes_part(int rank) const noexcept {
        const peer& p = of(rank);
        return p.is_awaited && p.mixes() && p.said == place_ && p.awaits;
    }
    /// With which links this rank, or one that takes part, begins the round.
    const topologies::live_links& links_of(int rank) const noexcept { return of(rank).links; }
    /// Ranks that went since the round began.
    std::span<const int> went() const noexcept { return went_; }

    /// The sum over the ranks in this round, the same on all of them. Every rank calls
    /// `judge(verdict)` once, which fills in what follows; that of who sums up holds.
    template <class Judge>
    round_verdict sum(const wire::gossip_sums& own, Judge judge) {
        own_ = own;
        waits_ = true;
        bool judged = false;
        stand();
        wait_until([&] {
            if (auto due = due_here(); due && due->at == place_) {
                judge(due->found);
                if (clock_.fit != fit_) clock_ = own_clock_;
                verdicts_.decide(*due);
                judged = true;
                answer_waiting();
            }
            return verdicts_.decided() >= place_;
        });
        waits_ = false;
        stand_here();
        round_verdict found = verdicts_.last();
        if (auto here = found; !judged) judge(here);
        if (verdicts_.decided() != place_) found.another = false;  // this rank is behind
        return found;
    }

    /// Hears what others say, and answers.
    void serve() {
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

    /// Serves until `done()`.
    template <class Done>
    void wait_until(Done done) {
        if (!comes(done)) give_up();
    }

    /// The same; false where nothing came that it waits for, for as long as gossip_patience says.
    template <class Done>
    bool comes(Done done) {
        patience_.begin(through_.now(), progress());
        while (true) {
            const std::uint64_t seen = through_.activity();
            serve();
            if (done()) return true;
            if (!patience_.lasts(through_.now(), progress(), !first_unknown())) return false;
            if (through_.activity() == seen) through_.await(seen);
        }
    }

    /// Ranks that failed while this one trained on, in order.
    std::span<const rank_loss> losses() const noexcept { return losses_.all(); }
    /// What this rank does, for errors.
    void at(peer_failure::occasion now) noexcept { now_ = now; }

private:
    using peer = peer_table::peer;

    peer& of(int rank) noexcept { return peers_.of(rank); }
    const peer& of(int rank) const noexcept { return peers_.of(rank); }
    std::optional<int> first_unknown() const noexcept { return peers_.first_unknown(place_); }

    // Words

    void say(int to, wire::gossip_word w) {
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

    void hear() { mail_.hear(taking()); }
    struct taker {
        gossip_peers* peers;
        void operator()(int from, const wire::gossip_word& w) const { peers->take(from, w); }
    };
    taker taking() noexcept { return {this}; }

    void take(int from, const wire::gossip_word& w) {
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

    [[noreturn]] void refuse(int other) const {
        throw mismatch("gossip: ranks " + std::to_string(through_.rank()) + " and " +
                       std::to_string(other) +
                       " are configured differently: their model, strategy or training options");
    }

    /// Of those in a later call of `fit` this rank will soon be.
    void answer_all() {
        peers_.for_each_here([&](int rank) {
            peer& p = of(rank);
            if (!p.asks_where || p.fit > fit_) return;
            p.asks_where = false;
            p.takes_part = begins_ && p.fit == fit_ && p.is_alike;
            say(rank, {.kind = wire::gossip_kind::here});
        });
    }

    void note(const rank_change& change) {
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
        p = {.is_here = change.is_here,
             .is_neighbour = p.is_neighbour,
             .has_answered = change.is_here};
    }

    // Waiting

    /// Grows with whatever comes or goes of what is mixed and fetched, and as others get on.
    std::int64_t progress() {
        const traffic all = through_.counters();
        return all.bytes_sent + all.bytes_received - mail_.bytes() - handover_.bytes() +
               progress_.count();
    }

    /// Whom it waits for, as far as it knows.
    int awaited() const {
        if (const auto unknown = first_unknown()) return *unknown;
        if (begins_) {
            const auto silent = peers_.first_here([](const peer& p) { return !p.has_answered; });
            return silent ? *silent : handover_.source();
        }
        if (const int sums = sums_for_all(); sums != through_.rank()) return sums;
        return peers_.first_here([](const peer& p) { return p.mixes(); })
            .value_or(through_.rank());
    }

    [[noreturn]] void give_up() {
        const int late = awaited();
        const std::string cause = patience_.cause();
        through_.fail("rank " + std::to_string(late) + " " + cause);
        throw peer_failure(late, cause, now_, errc::timed_out);
    }

    /// The call of `fit` is: whose parameters this rank took is in a later one.
    fit_start is_over() const noexcept {
        return {.is_over = true,
                .steps = static_cast<std::int64_t>(source_.at.step - source_.rounds)};
    }

    /// The transport is free until the next call of `fit`.
    void leave() {
        wait_until([&] { return handover_.is_idle() && mail_.is_all_said(); });
        mail_.close(taking());
    }

    void fetch() {
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
                      " with the parameters of rank " + std::to_string(*from) +
                      ", after its step " + std::to_string(step_));
            return;
        }
    }

    // Sums

    /// Who sums up, as far as this rank knows.
    int sums_for_all() const noexcept { return peers_.sums_for_all(since_, is_done_); }

    /// Tells who sums up where this rank is.
    void stand() {
        told_ = sums_for_all();
        stand_here();
        // Who went for this rank alone may still sum up for others: their verdicts then hold here.
        const bool to_all = told_ == through_.rank() && !losses_.all().empty();
        peers_.for_each_here([&](int rank) {
            if (rank == told_ || (to_all && of(rank).mixes()))
                say(rank, {.kind = wire::gossip_kind::stands, .waits = waits_, .own = own_});
        });
    }
    void stand_here() noexcept { verdicts_.stands(through_.rank(), place_, waits_, own_); }

    void sum_up() {
        if (takes_part_ && !is_done_ && sums_for_all() != told_) stand();
        // Those in an earlier round than this rank have nobody to do another with.
        while (const auto due = due_here()) {
            if (waits_ && due->at >= place_) break;
            verdicts_.decide(*due);
        }
        answer_waiting();
    }

    /// What this rank is to decide next.
    std::optional<round_verdicts::due> due_here() const {
        if (is_done_ || sums_for_all() != through_.rank()) return std::nullopt;
        return verdicts_.next(
            [&](int rank) { return rank == through_.rank() || of(rank).mixes(); });
    }

    void answer_waiting() {
        verdicts_.answer([&](int rank) {
            if (rank != through_.rank()) say(rank, {.kind = wire::gossip_kind::verdict});
        });
    }

    transport_ref through_;
    remarks says_;
    gossip_patience patience_;
    wait_progress progress_;
    peer_table peers_;
    std::uint64_t configuration_ = 0;
    std::uint64_t fit_ = 0, rounds_ = 0, since_ = 0;
    std::uint64_t step_ = 0;      // of all calls of `fit`; more where this rank followed others
    wire::gossip_word source_{};  // where the rank was of which all was fetched; fit 0: nothing was
    wire::gossip_place place_{};
    bool begins_ = false, tells_all_ = false, takes_part_ = false, is_done_ = false;
    bool has_trained_ = false;
    bool sums_up_ = false;
    std::vector<int> went_;
    lost_ranks losses_;
    peer_failure::occasion now_;
    // Sums
    bool waits_ = false;
    wire::gossip_sums own_{};
    int told_ = -1;  // who sums up
    round_verdicts verdicts_;
    wire::gossip_clock clock_{}, own_clock_{};
    bool agrees_ = false;
    // Last: transfers end before the memory goes.
    gossip_mail mail_;
    state_handover handover_;
};

}  // namespace sotto::detail
