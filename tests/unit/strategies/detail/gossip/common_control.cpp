#include "sotto/strategies/detail/gossip/common_control.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/control_phases.hpp"
#include "sotto/strategies/gossip/mixing/push_sum.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/topologies/star.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::numbered, testing::tug_by, testing::tug_of_war;

namespace {

const sgd slow{.learning_rate = 0.1};

auto by(const auto& topology, const auto& control, std::int64_t measure_every = 1) {
    return gossip{slow,
                  topology,
                  control,
                  none{},
                  mixing::adapt_then_combine{},
                  gossip_options{measure_every}};
}

/// Keeps the norm of the last gradient.
struct keeps_norm : tug_of_war {
    using tug_of_war::tug_of_war;
    double norm = 0.0;

    double gradient(std::span<const float> x, const batch_type& batch, std::span<float> out,
                    auto&& on_ready) {
        const double loss = tug_of_war::gradient(x, batch, out, on_ready);
        norm = std::sqrt(2.0 * loss);
        return loss;
    }
};

}  // namespace

TEST_CASE("by the graph's gap the target is of the distance, else of its estimate alone") {
    const auto distance_over_target = [](const auto& topology, int ranks, bool scaled) {
        const consensus_control control{.rho = 0.1, .rounds_max = 1000, .scaled_by_gap = scaled};
        const auto left = tug_by(by(topology, control), {.ranks = ranks, .rounds = 30});
        const detail::consensus_report& found = left.last[0];
        CHECK(found.estimate <= found.target);
        CHECK_FALSE(found.missed);
        return found.distance / (0.1 * 0.1 * found.gradient_norm);
    };
    CHECK(distance_over_target(topologies::ring{}, 16, false) > 3.0);
    CHECK(distance_over_target(topologies::ring{}, 16, true) < 1.0);
    CHECK(distance_over_target(topologies::star{}, 8, false) > 2.0);
    CHECK(distance_over_target(topologies::star{}, 8, true) < 1.0);
    CHECK(distance_over_target(topologies::lazy{topologies::one_peer_exponential{}, 0.2}, 8, true) <
          1.0);
}

TEST_CASE("what is scaled by the gap is the target: 1 - lambda, of a period its share") {
    const auto target = [](double lambda, std::int64_t period, bool scaled) {
        auto state = consensus_control{.rho = 0.5, .scaled_by_gap = scaled}.bind();
        return state.target({.learning_rate = 0.2,
                             .gradient_norm = 4.0,
                             .rounds = 1,
                             .second_singular_value = lambda,
                             .period = period});
    };
    CHECK(target(0.75, 1, false) == doctest::Approx(0.4));
    CHECK(target(0.75, 1, true) == doctest::Approx(0.1));
    CHECK(target(0.0, 3, true) == doctest::Approx(0.4 / 3.0));
    CHECK(target(0.5, 2, true) == doctest::Approx(0.4 * 0.75 / 2.0));
}

TEST_CASE("a graph whose gap is not known is refused where a controller needs it") {
    const consensus_control scaled{.scaled_by_gap = true};
    const auto refused = [](const auto& strategy) {
        CHECK_THROWS_WITH_AS(tug_by(strategy, {}), doctest::Contains("spectral gap, 1 - lambda"),
                             invalid_option);
    };
    refused(by(topologies::random_matching{}, scaled));
    refused(by(topologies::random_matching{}, control_phases{scaled, 2.0, no_control{}}));
    refused(gossip{slow, topologies::ring{}, scaled, none{}, mixing::push_sum{}});
    CHECK_NOTHROW(tug_by(by(topologies::random_matching{}, consensus_control{}), {}));
}

TEST_CASE("a controller that has no more rounds to give says so") {
    const auto missed = [](const consensus_control& control) {
        const auto left = tug_by(by(topologies::ring{}, control), {.ranks = 8, .rounds = 20});
        for (const detail::consensus_report& found : left.last)
            CHECK(found.missed == (found.estimate > found.target));
        return left.last[3].missed;
    };
    CHECK(missed({.rho = 0.001, .rounds_max = 2}));
    CHECK_FALSE(missed({.rho = 0.1, .rounds_max = 64}));
    CHECK_FALSE(tug_by(by(topologies::ring{}, no_control{}), {}).last[0].missed);
}

TEST_CASE("where matrices take turns what a controller misses is of a whole period") {
    // Two of three matrices: what the third says is not known, however small the last estimate is.
    const auto left = tug_by(
        by(topologies::one_peer_exponential{}, consensus_control{.rho = 1e6, .rounds_max = 2}),
        {.ranks = 8});
    CHECK(left.last[0].estimate < left.last[0].target);
    CHECK(left.last[0].missed);
    const auto whole = tug_by(
        by(topologies::one_peer_exponential{}, consensus_control{.rho = 1e6, .rounds_max = 3}),
        {.ranks = 8});
    CHECK_FALSE(whole.last[0].missed);
}

TEST_CASE("the gradient's norm is of the ranks that have data") {
    const auto last_norms = [](const auto& strategy) {
        std::pair<double, double> found_and_own;
        run_in_process(4, [&](auto& transport) {
            keeps_norm model(transport.rank(), {.away = 3.0f});
            trainer trainer{model, strategy, transport, {.batch_size = 1}};
            // Three steps, of which the others have data in the first.
            trainer.fit(local_data{numbered{transport.rank() == 2 ? 3 : 1}}, epochs{1},
                        [&](const step_report& step) {
                            if (transport.rank() == 2)
                                found_and_own = {step.round.consensus.gradient_norm, model.norm};
                        });
        });
        CHECK(found_and_own.second > 1.0);
        return found_and_own.first / found_and_own.second;
    };
    CHECK(last_norms(by(topologies::ring{}, consensus_control{}, 0)) == doctest::Approx(1.0));
    CHECK(last_norms(by(topologies::ring{}, consensus_control{}, 1)) == doctest::Approx(1.0));
}

TEST_CASE("what exact measuring sends is told apart, to the byte") {
    const auto sent = [](std::int64_t every) {
        std::vector<std::int64_t> steps;
        std::int64_t studied = 0;
        run_in_process(4, [&](auto& transport) {
            tug_of_war model(transport.rank(), {});
            trainer trainer{model,
                            by(topologies::ring{}, fixed_rounds{2}, every),
                            transport,
                            {.batch_size = 1}};
            const fit_report whole =
                trainer.fit(numbered{4}, epochs{7}, [&](const step_report& step) {
                    CHECK((step.round.study_bytes > 0) ==
                          (every > 0 && (step.step - 1) % every == 0));
                    if (transport.rank() == 1)
                        steps.push_back(step.round.bytes_sent - step.round.study_bytes);
                });
            if (transport.rank() == 1) studied = whole.total.study_bytes;
        });
        CHECK((studied > 0) == (every > 0));
        return steps;
    };
    CHECK(sent(3) == sent(0));
}
