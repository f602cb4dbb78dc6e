#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/strategies/detail/gossip/gossip_mail.hpp"
#include "sotto/strategies/detail/gossip/gossip_patience.hpp"
#include "sotto/strategies/detail/gossip/lost_ranks.hpp"
#include "sotto/strategies/detail/gossip/peer_table.hpp"
#include "sotto/strategies/detail/gossip/sum_coordinator.hpp"
#include "sotto/strategies/detail/gossip/state_handover.hpp"
#include "sotto/strategies/detail/gossip/wait_progress.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/detail/live_weight.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
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
    gossip_peers(transport_ref through, duration patience);
    gossip_peers(const gossip_peers&) = delete;
    gossip_peers& operator=(const gossip_peers&) = delete;

    /// What all ranks must be configured as.
    void introduce(const std::string& configuration);
    /// Rounds may mix with this rank.
    void may_meet(int rank) noexcept { of(rank).is_neighbour = true; }
    /// Sums will be asked for.
    void will_sum() noexcept { sums_up_ = true; }

    /// A call of `fit` begins with these parameters and buffers of the model, which stay where they
    /// are. Returns how many of its rounds those have had that were fetched, or that it is over.
    fit_start begin(std::span<float> parameters, std::span<float> buffers);

    /// Answers until all that take part are done, or nothing more comes of them: those that are
    /// not are losses.
    void finish();

    /// Returns which step this is for what all decide alike. `pace`: epochs a step, of this rank.
    round_info begin_step(round_info where, double pace) noexcept;
    /// The same, so many steps later.
    round_info next_step(round_info where, std::uint64_t later) const noexcept;
    /// Whether this step sums in any case, as it is not agreed on by whose epochs all count.
    bool agrees() const noexcept { return agrees_; }
    /// Whether this step begins with a round, where the verdict of the step before says so.
    std::optional<bool> is_to_mix() const noexcept;
    /// The step took place.
    void end_step() noexcept;

    /// Which round of mixing this is.
    wire::gossip_place next_round() const noexcept { return {step_, place_.round + 1}; }
    wire::gossip_place place() const noexcept { return place_; }  // the round that it is in

    /// The next round of the step, by this matrix.
    void begin_round(const sotto::topologies::mixing_matrix& matrix);

    /// Whether it is known of all neighbours whether they take part in the round.
    bool knows_all() const noexcept { return !first_unknown(); }
    /// Whether that rank mixes in the round under way.
    bool takes_part(int rank) const noexcept;
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
    void serve();

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
    void at(peer_failure::job_phase now) noexcept { now_ = now; }

private:
    using peer = peer_table::peer;

    peer& of(int rank) noexcept { return peers_.of(rank); }
    const peer& of(int rank) const noexcept { return peers_.of(rank); }
    std::optional<int> first_unknown() const noexcept { return peers_.first_unknown(place_); }

    // Words

    void say(int to, wire::gossip_word w);

    void hear() { mail_.hear(taking()); }
    struct taker {
        gossip_peers* peers;
        void operator()(int from, const wire::gossip_word& w) const { peers->take(from, w); }
    };
    taker taking() noexcept { return {this}; }

    void take(int from, const wire::gossip_word& w);

    [[noreturn]] void refuse(int other) const;

    /// Of those in a later call of `fit` this rank will soon be.
    void answer_all();

    void note(const rank_change& change);

    // Waiting

    /// Grows with whatever comes or goes of what is mixed and fetched, and as others get on.
    std::int64_t progress();

    /// Whom it waits for, as far as it knows.
    int awaited() const;

    [[noreturn]] void give_up();

    /// The call of `fit` is: whose parameters this rank took is in a later one.
    fit_start is_over() const noexcept;

    /// The transport is free until the next call of `fit`.
    void leave();

    void fetch();

    // Sums

    /// Who sums up, as far as this rank knows.
    int sums_for_all() const noexcept { return peers_.sums_for_all(since_, is_done_); }

    /// Tells who sums up where this rank is.
    void stand();
    void stand_here() noexcept { verdicts_.stands(through_.rank(), place_, waits_, own_); }

    void sum_up();

    /// What this rank is to decide next.
    std::optional<sum_coordinator::due> due_here() const;

    void answer_waiting();

    transport_ref through_;
    diagnostics says_;
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
    peer_failure::job_phase now_;
    // Sums
    bool waits_ = false;
    wire::gossip_sums own_{};
    int told_ = -1;  // who sums up
    sum_coordinator verdicts_;
    wire::gossip_clock clock_{}, own_clock_{};
    bool agrees_ = false;
    // Last: transfers end before the memory goes.
    gossip_mail mail_;
    state_handover handover_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/gossip_peers.ipp"
#endif
