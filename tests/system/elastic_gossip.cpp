// Gossip that goes on when ranks are lost, on the simulated network: one thing at a time.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_band.hpp"
#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/gossip/mixing/d_squared.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/torus.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/effort.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

/// A method of a user's own.
struct corrects {
    static constexpr bool corrects_last_step = true;
    struct state {};
    state bind(const layout&) const { return {}; }
};

static_assert(!detail::mixing::outlives_ranks<corrects>);
static_assert(detail::mixing::outlives_ranks<mixing::adapt_then_combine>);
static_assert(detail::mixing::outlives_ranks<mixing::combine_then_adapt>);
static_assert(detail::mixing::outlives_ranks<mixing::quasi_global_momentum>);
static_assert(!detail::mixing::outlives_ranks<mixing::asynchronous_pairs>);
static_assert(!detail::mixing::outlives_ranks<mixing::choco>);
static_assert(!detail::mixing::outlives_ranks<mixing::d_squared>);
static_assert(!detail::mixing::outlives_ranks<mixing::gradient_tracking>);
static_assert(!detail::mixing::outlives_ranks<mixing::push_sum>);
static_assert(!detail::mixing::outlives_ranks<mixing::slow_momentum<>>);

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
        for (int at = 0; at < 16; at += testing::tries(1, 3)) {
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
        for (int at = 0; at < 12; at += testing::tries(1, 5)) {
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

TEST_CASE("on the complete graph those who are left take their mean, as before") {
    simulated_options options = network();
    options.faults = {network_fault::crash(2, 400ms)};
    const auto ended = trained(surviving_by(topologies::complete{}), 5, options);
    CAPTURE(ended.text());
    const std::vector<float>& expected = ended.x[0].back();
    for (const int rank : {1, 3, 4})
        CHECK(distance_of(ended.x[static_cast<std::size_t>(rank)].back(), expected) < 1e-3);
}

TEST_CASE("who is left alone does not know how far it is apart: that is no distance of 0") {
    simulated_options options = network();
    options.faults = {network_fault::crash(1, 400ms)};
    std::vector<double> estimates;
    std::vector<std::int64_t> rounds;
    (void)simulate(2, options, [&](simulated& transport) {
        pulling_model model(transport.rank());
        trainer trainer{model,
                        surviving_by(topologies::ring{}, consensus_band{.low = 1e3, .high = 1e4}),
                        transport,
                        {.batch_size = 1}};
        trainer.fit(numbered{2 * steps_done}, epochs{1}, [&](const step_report& step) {
            if (transport.rank() != 0) return;
            estimates.push_back(step.round.consensus.estimate);
            rounds.push_back(step.round.consensus.rounds);
        });
    });
    REQUIRE(estimates.size() == steps_done);
    CHECK(estimates.front() > 0.0);
    CHECK(rounds[1] == -1);  // while both are there they are close, and do without every other one
    for (std::size_t step = steps_done - 6; step < steps_done; ++step) {
        CAPTURE(step);
        CHECK(std::isnan(estimates[step]));
        CHECK(rounds[step] >= 1);  // it asks again in every step
    }
}

TEST_CASE("no two rounds are paired by the same chance") {
    const auto ended =
        trained(surviving_by(topologies::random_matching{}, fixed_rounds{2}), 6, network());
    ended.run.require_success();
    auto pairs = topologies::random_matching{}.bind(6);
    int same = 0;
    for (const auto& [at, with] : ended.mixed[0]) {
        REQUIRE(at.second == 2);
        const auto first_of_next = pairs.matrix(static_cast<std::int64_t>(at.first) + 1).into(0);
        same += with == std::set{first_of_next.front().rank};
    }
    CHECK(same < 16);  // of 24, each with a chance of 1 in 5
}

TEST_CASE("whatever each rank has of the data, all do as many rounds in a step") {
    const auto check = [](auto optimizer, auto control) {
        constexpr int ranks = 5;
        std::vector<std::vector<std::int64_t>> rounds(ranks);
        const auto run = simulate(ranks, network(), [&](simulated& transport) {
            pulling_model model(transport.rank());
            const gossip strategy{optimizer, topologies::ring{},           control,
                                  none{},    mixing::adapt_then_combine{}, surviving{}};
            trainer trainer{model, strategy, transport, {.batch_size = 1}};
            const std::int64_t own = 8 + 3 * transport.rank();
            trainer.fit(local_data{numbered{own}}, epochs{2}, [&](const step_report& step) {
                rounds[static_cast<std::size_t>(transport.rank())].push_back(
                    step.round.consensus.rounds);
            });
        });
        run.require_success();
        std::set<std::int64_t> found;
        for (std::size_t step = 0; step < 16; ++step) {  // rank 0 has no more
            CAPTURE(step);
            for (int rank = 1; rank < ranks; ++rank)
                CHECK(rounds[static_cast<std::size_t>(rank)][step] == rounds[0][step]);
            found.insert(rounds[0][step]);
        }
        CHECK(found.size() > 1);
    };
    const sgd plain{.learning_rate = 0.125};
    check(plain, control_phases{consensus_control{.rho = 0.2}, 1.0, no_control{}});
    check(plain, control_phases{no_control{}, 1.0, consensus_control{.rho = 0.2}});
    check(plain, control_phases{fixed_rounds{3}, 1.0, consensus_band{.low = 1.0, .high = 4.0}});
    // A rate that falls with each rank's own epochs.
    check(scheduled{plain, step_decay{.every_epochs = 0.5, .factor_per_step = 0.25}},
          consensus_control{.rho = 0.5});
}

namespace {

/// Pulls less and less: who begins anew would expect another norm of gradients.
class fading_model : public pulling_model {
public:
    using pulling_model::pulling_model;
    double gradient(std::span<const float> x, const batch_type& batch, std::span<float> out,
                    auto&& on_ready) {
        pulling_model::gradient(x, batch, out, [](const tensor&) {});
        for (float& g : out) g *= strength_;
        strength_ *= 0.8f;
        on_ready(layout()[1]);
        on_ready(layout()[0]);
        return 0.0;
    }

private:
    float strength_ = 1.0f;
};

}  // namespace

TEST_CASE("a rank that came again does as many rounds in a step as the others") {
    const auto check = [](auto control) {
        for (int at = 0; at < 6; ++at) {
            CAPTURE(at);
            simulated_options options = network(static_cast<std::uint64_t>(at));
            options.faults = {network_fault::crash(2, 200ms + at * 37ms),
                              network_fault::restart(2, 300ms + at * 37ms)};
            constexpr int ranks = 5;
            std::vector<std::map<std::uint64_t, std::int64_t>> rounds(ranks);
            const auto run = simulate(ranks, options, [&](simulated& transport) {
                auto& mine = rounds[static_cast<std::size_t>(transport.rank())];
                mine.clear();
                fading_model model(transport.rank());
                const auto strategy = surviving_by(topologies::ring{}, control);
                trainer trainer{model, strategy, transport, {.batch_size = 1}};
                trainer.fit(
                    numbered{ranks * 2 * steps_done}, epochs{1}, [&](const step_report& step) {
                        mine[trainer.state().rounds().place().step] = step.round.consensus.rounds;
                    });
            });
            run.require_success();
            REQUIRE(rounds[2].size() > 8);
            const std::uint64_t first = rounds[2].begin()->first;
            int compared = 0;
            for (const auto& done : rounds[2]) {
                const std::uint64_t step = done.first;
                const std::int64_t own = done.second;
                if (step == first) continue;  // in which it may have come late
                CAPTURE(step);
                for (const int other : {0, 1, 3, 4}) {
                    const auto& theirs = rounds[static_cast<std::size_t>(other)];
                    if (const auto found = theirs.find(step); found != theirs.end()) {
                        CHECK(found->second == own);
                        ++compared;
                    }
                }
            }
            CHECK(compared > 20);
        }
    };
    check(consensus_control{.rho = 0.1, .average = 0.98});
    check(consensus_band{.low = 1.0, .high = 3.0, .average = 0.98});
}

namespace {

/// Keeps count of its gradients, as batch norm does of what it has seen.
class counting_model : public pulling_model {
public:
    explicit counting_model(int rank) : pulling_model(rank) {
        kept_.add("seen", {1}).add("of", {2});
    }
    const sotto::layout& buffer_layout() const noexcept { return kept_; }
    std::span<float> buffers() noexcept { return seen_; }
    void reset_buffers() noexcept { seen_ = {0.0f, 0.0f, 7.0f}; }
    double gradient(std::span<const float> x, const batch_type& batch, std::span<float> out,
                    auto&& on_ready) {
        seen_[0] += 1.0f;
        seen_[2] = 11.0f;
        return pulling_model::gradient(x, batch, out, on_ready);
    }

private:
    sotto::layout kept_;
    std::array<float, 3> seen_{};
};

}  // namespace

TEST_CASE("a rank that comes again goes on with a neighbour's buffers") {
    simulated_options options = network();
    options.faults = {network_fault::crash(2, 500ms), network_fault::restart(2, 600ms)};
    std::vector<float> seen(5);
    std::int64_t own_steps = 0;
    const auto run = simulate(5, options, [&](simulated& transport) {
        counting_model model(transport.rank());
        const auto strategy = surviving_by(topologies::ring{});
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        const fit_report report = trainer.fit(numbered{5 * steps_done}, epochs{1});
        seen[static_cast<std::size_t>(transport.rank())] = model.buffers()[0];
        if (transport.rank() == 2) own_steps = report.steps;
        CHECK(model.buffers()[2] == 11.0f);
    });
    run.require_success();
    CHECK(own_steps < steps_done - 4);
    CHECK(seen[2] >= static_cast<float>(steps_done));
    CHECK(seen[2] <= static_cast<float>(steps_done + 2));
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
    CHECK(run.left == detail::simulated_run::leavings{});
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
