// Mixed faults that seeds draw, over gossip. Where a lost rank ends the job: every call ends by its
// deadline, after every step each rank holds what a run without faults holds, to the last bit, and
// survivors blame whom the first fault concerned. Where it goes on: every call ends by its
// deadline; who lives does all its steps, of as many rounds as the others where ranks have only
// died; a link mixes at both of its ends or at none, unless it breaks; and once ranks have died the
// mean of the others is kept.
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/consensus/consensus_control.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/mixing/gradient_tracking.hpp"
#include "sotto/mixing/quasi_global_momentum.hpp"
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

/// One loss after another may hold up a step: of a link that one end has given up the other end
/// hears nothing more, until that counts as a loss.
duration longest_for(const simulated_options& options) {
    return longest_call + held_up_by(options) +
           std::ssize(options.faults) * (options.dead_after + 2 * options.heartbeat);
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
        else if (f.what == network_fault::kind::restart || !f.is_harmless(options.dead_after / 2))
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
    CHECK(ended.run.took < steps_done * longest_call + longest_for(options));
    for (int rank = 0; rank < ranks; ++rank) {
        const auto which = static_cast<std::size_t>(rank);
        CAPTURE(rank);
        CHECK(ended.longest[which] < longest_for(options));
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
                const auto found = ended.mixed[there].find(at.first);
                CHECK(
                    (broke || (found != ended.mixed[there].end() && found->second.contains(rank))));
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
}

void check_seed_surviving(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("gossip survives");
    simulated_options options = usual(seed);
    const auto which = random.below(8);
    const int ranks = number_of_ranks(random);
    options.faults = random_faults(random, ranks, number_of_faults(random, 4), 450ms);
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
    const pulled ended = train_pulled_apart(strategy, ranks, steps_done, options, 200);
    CAPTURE(ended.text());
    const std::set<int> concerned = concerned_by(options), culprits = first_culprits(options);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto which = static_cast<std::size_t>(rank);
        CAPTURE(rank);
        CHECK(ended.longest[which] < longest_call + held_up_by(options));
        REQUIRE(ended.x[which].size() <= expected[which].size());
        CHECK(std::equal(ended.x[which].begin(), ended.x[which].end(), expected[which].begin()));
        const auto& ending = ended.run.ranks[which];
        if (concerned.empty()) CHECK(ended.x[which].size() == expected[which].size());
        if (ending.killed || !ending.thrown) continue;
        CHECK_FALSE(concerned.empty());
        try {
            std::rethrow_exception(ending.thrown);
        } catch (const peer_failure& e) {
            CHECK(culprits.contains(e.rank()));
        } catch (const std::exception& e) {
            FAIL_CHECK("not a peer_failure: " << e.what());
        }
    }
}

void check_seed_ending(std::uint64_t seed) {
    random_stream random = random_stream(seed).split("gossip ends");
    simulated_options options = usual(seed);
    const auto which = random.below(6);
    const int ranks = number_of_ranks(random);
    options.faults = random_faults(random, ranks, number_of_faults(random, 3), 450ms);
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

TEST_CASE("whatever goes wrong, those who live mix on at both ends of their links") {
    for_each_seed(500, check_seed_surviving);
}

TEST_CASE("whatever goes wrong, a job by gossip ends everywhere and names who was lost") {
    for_each_seed(500, check_seed_ending);
}
