#include "sotto/strategies/gossip/mixing/d_squared.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "sotto/optimizers/scheduled.hpp"
#include "sotto/optimizers/schedules.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/lazy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::quarters, testing::tug_by;

TEST_CASE("D^2 keeps each rate with its gradient where rates change") {
    // x1 = W (x0 - r0 g0);  x = W (2 x - x' - r g + r' g')
    constexpr std::size_t n = 4;
    constexpr int steps = 9;
    const auto rate = [](int step) { return 0.25 * std::pow(0.5, step / 2); };
    auto state = topologies::lazy{quarters{}}.bind(n);
    const auto& w = state.matrix(0);
    std::array<double, n> x{}, before{}, moved_before{};
    for (int step = 0; step < steps; ++step) {
        std::array<double, n> y{}, next{}, moved{};
        for (std::size_t i = 0; i < n; ++i) {
            moved[i] = rate(step) * (x[i] - static_cast<double>(i));
            y[i] = step == 0 ? x[i] - moved[i] : 2 * x[i] - before[i] - moved[i] + moved_before[i];
        }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                next[i] += w.weight(static_cast<int>(i), static_cast<int>(j)) * y[j];
        before = x;
        moved_before = moved;
        x = next;
    }
    const auto left =
        tug_by(gossip{scheduled{sgd{.learning_rate = 0.25},
                                step_decay{.every_epochs = 2, .factor_per_step = 0.5}},
                      topologies::lazy{quarters{}}, no_control{}, none{}, mixing::d_squared{}},
               {.ranks = n, .rounds = steps});
    for (std::size_t i = 0; i < n; ++i) CHECK(left.x[i][0] == doctest::Approx(x[i]).epsilon(1e-5));
}

TEST_CASE("D^2 refuses links that change from round to round, by which it would diverge") {
    const auto by = [](const auto& topology) {
        return gossip{sgd{}, topology, no_control{}, none{}, mixing::d_squared{}};
    };
    CHECK_THROWS_WITH(
        testing::train(4, by(topologies::random_matching{})),
        doctest::Contains("gossip: mixing::d_squared corrects each step by where the one before it "
                          "was mixed to, but topologies::random_matching has other links from "
                          "round to round: use one whose rounds are all alike, such as "
                          "topologies::ring{}"));
    CHECK_THROWS_WITH(testing::train(4, by(topologies::lazy{topologies::random_matching{}})),
                      doctest::Contains("topologies::lazy has other links"));
    CHECK_THROWS_WITH(testing::train(4, by(topologies::one_peer_exponential{})),
                      doctest::Contains("topologies::one_peer_exponential has other links"));
    CHECK_NOTHROW(testing::train(1, by(topologies::random_matching{})));
}
