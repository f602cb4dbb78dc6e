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
#include "sotto/mixing/asynchronous_pairs.hpp"
#include "sotto/mixing/choco.hpp"
#include "sotto/mixing/d_squared.hpp"
#include "sotto/mixing/gradient_tracking.hpp"
#include "sotto/mixing/push_sum.hpp"
#include "sotto/mixing/quasi_global_momentum.hpp"
#include "sotto/mixing/slow_momentum.hpp"
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

static_assert(mixing::outlives_ranks<mixing::adapt_then_combine>);
static_assert(mixing::outlives_ranks<mixing::combine_then_adapt>);
static_assert(mixing::outlives_ranks<mixing::quasi_global_momentum>);
static_assert(!mixing::outlives_ranks<mixing::asynchronous_pairs>);
static_assert(!mixing::outlives_ranks<mixing::choco>);
static_assert(!mixing::outlives_ranks<mixing::d_squared>);
static_assert(!mixing::outlives_ranks<mixing::gradient_tracking>);
static_assert(!mixing::outlives_ranks<mixing::push_sum>);
static_assert(!mixing::outlives_ranks<mixing::slow_momentum<>>);

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
                CHECK(ended.longest(which) < 800ms);
            }
            // Its last words may have counted in the round after its last.
            for (std::int64_t step = last + 1; step < steps_done; ++step)
                CHECK(ended.loses_of_sum(step, {victim}) < 1e-4);
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

TEST_CASE("a rank that comes again fetches parameters, and mixes on to the end") {
    const auto check = [](auto strategy, int ranks) {
        for (int at = 0; at < 12; ++at) {
            CAPTURE(at);
            simulated_options options = network(static_cast<std::uint64_t>(at));
            const int victim = at % ranks;
            const duration dies = 1ms + at * 37ms;
            options.faults = {network_fault::crash(victim, dies),
                              network_fault::restart(victim, dies + 5ms + (at % 5) * 20ms)};
            const auto ended = trained(strategy, ranks, options);
            CAPTURE(ended.text());
            ended.run.require_success();
            const auto again = static_cast<std::size_t>(victim);
            const std::vector<float>& left = ended.x[again].back();
            CHECK(ended.done[again] == steps_done);
            for (int rank = 0; rank < ranks; ++rank) {
                const auto which = static_cast<std::size_t>(rank);
                CAPTURE(rank);
                CHECK(ended.longest(which) < 800ms);
                if (rank == victim) continue;
                CHECK(std::ssize(ended.x[which]) == steps_done + 1);
                // Alone it would be where its own force leads, some 20 times as far away.
                CHECK(distance_of(left, ended.x[which].back()) < 0.2 * ended.force_apart(victim));
            }
        }
    };
    check(surviving_by(topologies::ring{}), 5);
    check(surviving_by(topologies::torus{}), 6);
    check(surviving_by(topologies::complete{}), 4);
    check(surviving_by(topologies::ring{}, fixed_rounds{3}), 5);
    check(surviving_by(topologies::ring{}, consensus_control{.rho = 0.5}), 5);
}

TEST_CASE("links that weigh otherwise the other way, and other configurations, are refused") {
    CHECK_THROWS_AS(
        trained(surviving_by(topologies::exponential{}), 5, network()).run.require_success(),
        invalid_option);

    std::vector<std::string> why(4);
    (void)simulate(4, network(), [&](simulated& transport) {
        pulling_model model(transport.rank());
        const double rate = transport.rank() == 2 ? 0.25 : 0.125;
        const gossip strategy{
            sgd{.learning_rate = rate},   topologies::ring{},        no_control{}, none{},
            mixing::adapt_then_combine{}, surviving{.patience = 3.0}};
        try {
            trainer trainer{model, strategy, transport, {.batch_size = 1}};
            trainer.fit(numbered{4 * steps_done}, epochs{1});
            CHECK(trainer.step() == steps_done);
        } catch (const mismatch& e) {
            why[static_cast<std::size_t>(transport.rank())] = e.what();
            throw;
        }
    });
    for (const int rank : {0, 1, 3})
        CHECK(why[static_cast<std::size_t>(rank)].starts_with(
            "gossip: ranks " + std::to_string(rank) + " and 2 are configured differently"));
    CHECK(why[2].starts_with("gossip: ranks 2 and 0 are configured differently"));
}

TEST_CASE("calls of fit follow each other, and the transport is free in between") {
    std::vector<std::int64_t> steps_of(4);
    const auto run = simulate(4, network(), [&](simulated& transport) {
        pulling_model model(transport.rank());
        const auto strategy = surviving_by(topologies::ring{}, consensus_control{});
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        for (int call = 0; call < 3; ++call) {
            trainer.fit(numbered{4 * steps_done + 1}, epochs{1});  // one rank has a step more
            CHECK(transport.agree(true));
        }
        steps_of[static_cast<std::size_t>(transport.rank())] = trainer.step();
    });
    run.require_success();
    CHECK(run.left == simulated_run::leavings{});
    CHECK(steps_of == std::vector<std::int64_t>{3 * steps_done + 3, 3 * steps_done, 3 * steps_done,
                                                3 * steps_done});
}

TEST_CASE("a rank that lives but does nothing is left by its neighbours, not waited for for ever") {
    simulated_options options = network();
    options.faults = {network_fault::pause(2, 100ms, 150ms)};  // shorter than silence means death
    trained(surviving_by(topologies::ring{}), 5, options).run.require_success();

    std::vector<int> blamed(4, -1);
    const auto run = simulate(4, network(), [&](simulated& transport) {
        pulling_model model(transport.rank());
        const auto strategy = surviving_by(topologies::ring{});
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        try {
            trainer.fit(numbered{4 * steps_done}, epochs{1}, [&](const step_report& step) {
                if (transport.rank() == 2 && step.step == 5) transport.charge({.flops = 1e7});
            });
        } catch (const peer_failure& e) {
            blamed[static_cast<std::size_t>(transport.rank())] = e.rank();
            CHECK(e.code() == errc::timed_out);
            throw;
        }
    });
    CHECK(blamed[1] == 2);
    CHECK(blamed[3] == 2);

    CHECK_FALSE(run.ranks[0].thrown);
    CHECK_FALSE(run.ranks[2].thrown);
}

TEST_CASE("a run in which ranks die and come again repeats itself") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        simulated_options options = network(seed);
        options.faults = {network_fault::crash(1, 100ms), network_fault::restart(1, 200ms),
                          network_fault::power_loss(3, 150ms), network_fault::cut(0, 4, 300ms)};
        const auto hash = [&] {
            return trained(surviving_by(topologies::torus{}, consensus_control{}), 6, options)
                .run.trace_hash;
        };
        CHECK(hash() == hash());
    }
}
