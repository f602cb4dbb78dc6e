// Mixed faults that seeds draw, over gossip; some ranks pause or are cut off for longer than it
// takes to be missed. Where a lost rank ends the job: every call ends by its deadline, after every
// step each rank holds what a run without faults holds, to the last bit, and survivors blame whom a
// fault concerned that could be noticed before the first word of a failure was everywhere. Where it
// goes on: every call ends by its deadline; who lives does all its steps, of as many rounds as the
// others where ranks have only died; a link mixes at both of its ends or at none, unless it breaks;
// and once ranks have died the mean of the others is kept. In both what waits for a rank stays
// within the budget, and nothing that was to be called is left; nothing at all where no fault is
// grave.
//
//   SOTTO_FAULT_SEEDS       how many seeds; 500
//   SOTTO_FAULT_SEED        the first of them
//   SOTTO_FAULT_SEED_LIMIT  seconds after which one counts as hung; 60

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t steps_done = 12;

/// A call's deadline, besides what faults hold up: a slow step, the silence after which a rank
/// counts as dead, and another's answer.
constexpr duration longest_call = 800ms;

/// Half of those that die come again.
void let_some_come_again(simulated_options& options, random_stream& random) {
    std::vector<network_fault> again;
    for (const network_fault& f : options.faults)
        if ((f.what == network_fault::kind::crash || f.what == network_fault::kind::power_loss) &&
            random.below(2) == 0)
            again.push_back(network_fault::restart(
                f.rank, f.at + 1ms * static_cast<std::int64_t>(1 + random.below(400))));
    options.faults.insert(options.faults.end(), again.begin(), again.end());
    std::stable_sort(options.faults.begin(), options.faults.end(),
                     [](const network_fault& a, const network_fault& b) { return a.at < b.at; });
}

/// Mostly of one segment, now and then of several, announced before they are sent.
std::int64_t size_for(random_stream& random, simulated_options& options) {
    if (random.below(8) != 0) return 200;
    options.budget = 65536;
    options.machine.flops *= 40.0;
    return 8000;
}

/// By when a call that began at a time ends. Besides what faults hold up: ranks that are silent are
/// missed; and of a link that one end has given up the other end hears nothing more, until that
/// counts as a loss, too: one loss after another may hold up a step.
duration ends_by(duration began, const simulated_options& options) {
    const duration missed = options.dead_after + 2 * options.heartbeat;
    duration end = held_up(options, began + longest_call, longest_call);
    for (const network_fault& f : options.faults) {  // in order of time
        if (f.at > end || !is_grave(f, options)) continue;
        end = std::max(end + missed, missed_by(f, options) + missed + longest_call);
    }
    return end;
}

/// What holds of every run.
void check_calls(const pulled& ended, const simulated_options& options) {
    duration end{};
    for (std::int64_t call = 0; call < steps_done + 2; ++call) end = ends_by(end, options);
    CHECK(ended.run.took <= end);
    for (std::size_t rank = 0; rank < ended.calls.size(); ++rank) {
        CAPTURE(rank);
        CHECK(ended.queued[rank] <= options.budget);
        for (const pulled::call& c : ended.calls[rank]) {
            CAPTURE(in_seconds(c.began));
            CAPTURE(in_seconds(c.ended));
            CHECK(c.ended <= ends_by(c.began, options));
        }
    }
    check_left(ended.run, concerned_by(options));
}

bool has(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// The ranks that a fault ends and that do not come again, if no other fault does anything.
std::optional<std::set<int>> only_died(const simulated_options& options) {
    std::set<int> dead;
    for (const network_fault& f : options.faults) {
        if (f.what == network_fault::kind::crash || f.what == network_fault::kind::power_loss)
            dead.insert(f.rank);
        else if (f.what == network_fault::kind::restart || is_grave(f, options))
            return std::nullopt;
    }
    return dead;
}

template <bool mean_is_known = true, class Strategy>
void check_surviving(const Strategy& strategy, int ranks, const simulated_options& options,
                     std::int64_t size) {
    const pulled ended = train_pulled_apart(strategy, ranks, steps_done, options, size);
    CAPTURE(ended.text());
    std::set<int> came_again;
    for (const network_fault& f : options.faults)
        if (f.what == network_fault::kind::restart) came_again.insert(f.rank);
    check_calls(ended, options);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto which = static_cast<std::size_t>(rank);
        CAPTURE(rank);
        CHECK_FALSE(ended.run.ranks[which].thrown);
        if (ended.run.ranks[which].killed) continue;
        CHECK(ended.done[which] == steps_done);
        CHECK(std::ranges::all_of(ended.x[which].back(), [](float v) { return std::isfinite(v); }));
        for (const auto& at : ended.mixed[which])
            for (const int other : at.second) {
                const auto there = static_cast<std::size_t>(other);
                const bool broke = has(ended.lost[which], other) || has(ended.lost[there], rank) ||
                                   ended.run.ranks[there].killed || came_again.contains(other) ||
                                   came_again.contains(rank);
                CAPTURE(other);
                CAPTURE(at.first.first);
                // Where ranks have different losses they may mix that step in more rounds: of each
                // step its last round is known.
                const auto found = ended.mixed[there].lower_bound(at.first);
                const bool is_known =
                    found != ended.mixed[there].end() && found->first.first == at.first.first;
                const bool is_later = is_known && found->first != at.first;
                CAPTURE(is_later);
                CHECK((broke || is_later || (is_known && found->second.contains(rank))));
            }
    }
    if (const auto dead = only_died(options)) {  // then all decide alike how often they mix
        const std::vector<std::int64_t>* rounds = nullptr;
        for (int rank = 0; rank < ranks; ++rank) {
            if (dead->contains(rank)) continue;
            if (!rounds) rounds = &ended.rounds[static_cast<std::size_t>(rank)];
            CHECK(ended.rounds[static_cast<std::size_t>(rank)] == *rounds);
        }
    }
    if (const auto dead = only_died(options); mean_is_known && dead) {
        std::int64_t last = 0;
        for (const int rank : *dead)
            last = std::max(last, std::ssize(ended.x[static_cast<std::size_t>(rank)]));
        if (static_cast<int>(dead->size()) < ranks)
            for (std::int64_t step = dead->empty() ? 0 : last + 1; step < steps_done; ++step)
                CHECK(ended.loses_of_sum(step, *dead) < 1e-3);
    }
    if (is_repeated(options.seed)) {
        const pulled again = train_pulled_apart(strategy, ranks, steps_done, options, size);
        CHECK(again.run.trace_hash == ended.run.trace_hash);
    }
}

void check_seed_surviving(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("gossip survives");
    simulated_options options = usual(seed);
    const auto which = random.below(8);
    const int ranks = number_of_ranks(random);
    options.faults =
        random_faults(random, ranks, number_of_faults(random, 4), 450ms, longest_of(options));
    let_some_come_again(options, random);
    const std::int64_t size = size_for(random, options);
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(size);
    CAPTURE(seed_note(seed, options));
    const sgd plain{.learning_rate = 0.125};
    const surviving on{.patience = 10.0};
    const mixing::adapt_then_combine after{};
    const auto by = [&](auto topology, auto control, auto method) {
        check_surviving(gossip{plain, topology, control, none{}, method, on}, ranks, options, size);
    };
    switch (which) {
        case 0: return by(topologies::ring{}, no_control{}, after);
        case 1: return by(topologies::torus{}, no_control{}, mixing::combine_then_adapt{});
        case 2: return by(topologies::complete{}, no_control{}, after);
        case 3:  // who has no partner runs ahead, and who is behind follows
            return check_surviving<false>(
                gossip{plain, topologies::random_matching{}, no_control{}, none{}, after, on},
                ranks, options, size);
        case 4: return by(topologies::ring{}, fixed_rounds{3}, after);
        case 5: return by(topologies::torus{}, consensus_control{.rho = 0.5}, after);
        case 6: return by(topologies::ring{}, consensus_control{.rho = 0.1}, after);
        default:  // what it follows is each rank's own
            return check_surviving<false>(
                gossip{plain, topologies::complete{}, consensus_control{.rho = 0.1}, none{},
                       mixing::quasi_global_momentum{}, on},
                ranks, options, size);
    }
}

template <class Strategy>
void check_ending(const Strategy& strategy, int ranks, const simulated_options& options) {
    static std::map<int, std::vector<std::vector<std::vector<float>>>> undisturbed;
    auto& expected = undisturbed[ranks];
    if (expected.empty()) {
        simulated_options calm = options;
        calm.faults.clear();
        expected = train_pulled_apart(strategy, ranks, steps_done, calm, 200).x;
    }
    fault_effects effects(options, ranks);
    const pulled ended = train_pulled_apart(
        strategy, ranks, steps_done, options, 200,
        [&](simulated& transport, auto& work) {
            const auto watched = effects.watch(transport);
            work(transport);
        },
        std::ref(effects));
    CAPTURE(ended.text());
    check_calls(ended, options);
    const std::set<int> concerned = concerned_by(options);
    std::vector<std::optional<int>> blames(static_cast<std::size_t>(ranks));
    std::set<int> survive;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto which = static_cast<std::size_t>(rank);
        CAPTURE(rank);
        REQUIRE(ended.x[which].size() <= expected[which].size());
        CHECK(std::equal(ended.x[which].begin(), ended.x[which].end(), expected[which].begin()));
        const auto& ending = ended.run.ranks[which];
        if (concerned.empty()) CHECK(ended.x[which].size() == expected[which].size());
        if (!concerned.contains(rank)) survive.insert(rank);
        if (ending.killed || !ending.thrown) continue;
        CHECK_FALSE(concerned.empty());
        try {
            std::rethrow_exception(ending.thrown);
        } catch (const peer_failure& e) {
            blames[which] = e.rank();
        } catch (const std::exception& e) {
            FAIL_CHECK("not a peer_failure: " << e.what());
        }
    }
    CHECK(effects.objections(blames, survive) == "");
    if (is_repeated(options.seed)) {
        const pulled again = train_pulled_apart(strategy, ranks, steps_done, options, 200);
        CHECK(again.run.trace_hash == ended.run.trace_hash);
    }
}

void check_seed_ending(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("gossip ends");
    simulated_options options = usual(seed);
    const auto which = random.below(6);
    const int ranks = number_of_ranks(random);
    options.faults =
        random_faults(random, ranks, number_of_faults(random, 3), 450ms, longest_of(options));
    CAPTURE(which);
    CAPTURE(ranks);
    CAPTURE(seed_note(seed, options));
    const momentum_sgd heavy{.learning_rate = 0.125};
    const auto by = [&](auto... policies) {
        check_ending(gossip{heavy, policies...}, ranks, options);
    };
    switch (which) {
        case 0: return by(topologies::ring{});
        case 1: return by(topologies::torus{}, fixed_rounds{2});
        case 2: return by(topologies::complete{});
        case 3: return by(topologies::ring{}, consensus_control{.rho = 0.5});
        case 4: return by(topologies::ring{}, no_control{}, none{}, mixing::gradient_tracking{});
        default:
            return by(topologies::random_matching{}, no_control{}, none{},
                      mixing::combine_then_adapt{});
    }
}

}  // namespace

TEST_CASE("random faults: live ranks mix on at both ends of their links") {
    for_each_seed(500, check_seed_surviving);
}

TEST_CASE("random faults: a gossip job ends on every rank and names the lost ones") {
    for_each_seed(500, check_seed_ending);
}
