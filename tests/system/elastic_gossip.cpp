// Gossip that goes on when ranks are lost, on the simulated network: one thing at a time.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/consensus/consensus_band.hpp"
#include "sotto/consensus/consensus_control.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/mixing/quasi_global_momentum.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t steps_done = 24;

simulated_options network(std::uint64_t seed = 3) {
    return usual(seed);  // a step takes some 40 ms
}

template <class Topology, class Control = no_control, class Mixing = mixing::adapt_then_combine>
auto surviving_by(Topology topology, Control control = {}, Mixing mixing = {}) {
    return gossip{sgd{.learning_rate = 0.125}, topology, control, none{}, mixing,
                  surviving{.patience = 3.0}};
}

template <class Strategy>
pulled trained(const Strategy& strategy, int ranks, const simulated_options& options) {
    return train_pulled_apart(strategy, ranks, steps_done, options);
}

}  // namespace

TEST_CASE("while nobody is lost it is gossip, bit for bit") {
    const auto check = [](auto topology, auto mixing) {
        const gossip plain{momentum_sgd{}, topology, no_control{}, none{}, mixing};
        const gossip survives{momentum_sgd{}, topology, no_control{}, none{}, mixing, surviving{}};
        const auto expected = trained(plain, 6, network());
        const auto found = trained(survives, 6, network());
        found.run.require_success();
        CHECK(found.x == expected.x);
    };
    check(topologies::ring{}, mixing::adapt_then_combine{});
    check(topologies::ring{}, mixing::combine_then_adapt{});
    check(topologies::torus{}, mixing::adapt_then_combine{});
    check(topologies::random_matching{}, mixing::adapt_then_combine{});
}

TEST_CASE("while nobody is lost controllers ask for as many rounds") {
    const auto check = [](auto topology, auto control) {
        const gossip plain{sgd{.learning_rate = 0.125}, topology, control};
        const auto expected = trained(plain, 6, network());
        const auto found = trained(surviving_by(topology, control), 6, network());
        found.run.require_success();
        CHECK(found.rounds == expected.rounds);
        for (std::size_t rank = 0; rank < 6; ++rank) CHECK(found.rounds[rank] == found.rounds[0]);
    };
    check(topologies::ring{}, fixed_rounds{3});
    check(topologies::ring{}, consensus_control{.rho = 0.25});
    check(topologies::torus{}, consensus_control{.rho = 1.0});
}

TEST_CASE("whenever a rank dies the others go on, and then their mean is kept") {
    const auto check = [](auto strategy, int ranks) {
        for (int at = 0; at < 16; ++at) {
            CAPTURE(at);
            simulated_options options = network(static_cast<std::uint64_t>(at));
            const int victim = at % ranks;
            options.faults = {at % 2 == 0 ? network_fault::crash(victim, 1ms + at * 37ms)
                                          : network_fault::power_loss(victim, 1ms + at * 37ms)};
            const auto ended = trained(strategy, ranks, options);
            CAPTURE(ended.text());
            const auto last = std::ssize(ended.x[static_cast<std::size_t>(victim)]);
            for (int rank = 0; rank < ranks; ++rank) {
                const auto which = static_cast<std::size_t>(rank);
                CAPTURE(rank);
                if (rank == victim) {
                    CHECK(ended.run.ranks[which].killed);
                    continue;
                }
                CHECK_FALSE(ended.run.ranks[which].thrown);
                CHECK(std::ssize(ended.x[which]) == steps_done + 1);
                REQUIRE(ended.lost[which].size() == 1);
                CHECK(ended.lost[which].front() == victim);
                CHECK(ended.longest[which] < 800ms);
            }
            // Its last words may have counted in the round after its last.
            for (std::int64_t step = last + 1; step < steps_done; ++step)
                CHECK(ended.loses_of_sum(step, victim) < 1e-4);
        }
    };
    check(surviving_by(topologies::ring{}), 5);
    check(surviving_by(topologies::torus{}), 6);
    check(surviving_by(topologies::complete{}), 4);
    check(surviving_by(topologies::ring{}, fixed_rounds{3}), 5);
    check(surviving_by(topologies::ring{}, consensus_control{.rho = 0.5}), 5);
    check(surviving_by(topologies::complete{}, consensus_control{.rho = 0.01}), 4);
    check(surviving_by(topologies::ring{}, no_control{}, mixing::combine_then_adapt{}), 5);
}
