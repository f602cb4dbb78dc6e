#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sotto/strategies/gossip/control/consensus_band.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::contest, testing::tug, testing::tug_by, testing::tug_of_war;

namespace {

/// A controller that lets no rank mix.
struct never {
    static constexpr bool estimates = false;
    struct state {
        consensus_reading::measure needs(const round_info&) const {
            return consensus_reading::measure::nothing;
        }
        bool wants_one(const round_info&, double) const { return false; }
        bool wants_another(const consensus_reading&) const { return false; }
    };
    state bind() const { return {}; }
    void describe(auto&&) const {}
};

template <class Inner, class Control = no_control>
tug by(Inner inner, int steps, Control control = {}) {
    const mixing::slow_momentum method{inner, 3, 0.5, 1.0};
    return tug_by(gossip{sgd{.learning_rate = 0.25}, topologies::ring{}, control, none{}, method},
                  {.ranks = 5, .rounds = steps});
}

/// All ranks at the place to which slow momentum leads their mean, which pulls towards 2.
void are_at_the_mean(const tug& left, int steps) {
    double x = 0.0, u = 0.0, from = 0.0;
    for (int step = 1; step <= steps; ++step) {
        x -= 0.25 * (x - 2.0);
        if (step % 3 != 0) continue;
        u = 0.5 * u + (from - x) / 0.25;
        x = from -= 0.25 * u;
    }
    for (const auto& of_rank : left.x) {
        CHECK(of_rank == left.x[0]);
        CHECK(of_rank[0] == doctest::Approx(x).epsilon(1e-5));
    }
}

}  // namespace

TEST_CASE("the mean is of where the last step led, in whatever order the method inside mixes") {
    for (const int steps : {3, 6}) {
        CAPTURE(steps);
        are_at_the_mean(by(mixing::adapt_then_combine{}, steps), steps);
        are_at_the_mean(by(mixing::combine_then_adapt{}, steps), steps);
        are_at_the_mean(by(mixing::push_sum{}, steps), steps);
    }
}

TEST_CASE("the mean is taken though the controller lets ranks do without mixing") {
    are_at_the_mean(by(mixing::adapt_then_combine{}, 6, never{}), 6);
    are_at_the_mean(by(mixing::combine_then_adapt{}, 6, never{}), 6);
    // Far below the band, so that every other step is without a round.
    const consensus_band wide{.low = 1e6, .high = 2e6};
    are_at_the_mean(by(mixing::adapt_then_combine{}, 6, wide), 6);
}

TEST_CASE("in the step of the mean there is one round, whatever number is asked for") {
    run_in_process(5, [](auto& transport) {
        tug_of_war model(transport.rank(), contest{.ranks = 5});
        const mixing::slow_momentum method{mixing::adapt_then_combine{}, 3, 0.5, 1.0};
        trainer trainer{
            model,
            gossip{sgd{.learning_rate = 0.25}, topologies::ring{}, fixed_rounds{4}, none{}, method},
            transport,
            {.batch_size = 1}};
        trainer.fit(testing::numbered{5}, epochs{6}, [&](const step_report& step) {
            CHECK(step.round.consensus.rounds == (step.step % 3 == 0 ? 1 : 4));
        });
        CHECK(trainer.state().rounds().done() == 2 * (4 + 4 + 1));
    });
}

TEST_CASE("options that cannot be are refused by name") {
    const auto refuses = [](const mixing::slow_momentum<>& options, const char* why) {
        CHECK_THROWS_WITH_AS(options.bind(layout{}), why, invalid_option);
    };
    refuses({.every = 0}, "mixing::slow_momentum: every is 0; it must be at least 1");
    refuses({.momentum = 1.0},
            "mixing::slow_momentum: momentum is 1; it must be at least 0 and below 1");
    refuses({.factor = 0.0}, "mixing::slow_momentum: factor is 0; it must be finite and above 0");
    refuses({.factor = std::numeric_limits<double>::infinity()},
            "mixing::slow_momentum: factor is inf; it must be finite and above 0");
}
