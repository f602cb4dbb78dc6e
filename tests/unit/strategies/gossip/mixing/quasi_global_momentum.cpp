#include "sotto/strategies/gossip/mixing/quasi_global_momentum.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::quarters, testing::tug_by;

TEST_CASE("on a ring quasi-global momentum follows where each rank's mixed parameters went") {
    // m = b q + g, by Nesterov g + b m;  x' = W (x - r m);  q = u q + (1 - u) (x - x') / r
    constexpr std::size_t n = 5;
    constexpr double rate = 0.125, momentum = 0.5, follow = 0.75;
    const auto state = quarters{}.bind(n);
    const auto& w = state.matrix(0);
    for (const bool nesterov : {false, true}) {
        CAPTURE(nesterov);
        std::array<double, n> x{}, q{};
        for (int step = 0; step < 7; ++step) {
            std::array<double, n> y{}, next{};
            for (std::size_t i = 0; i < n; ++i) {
                const double g = x[i] - static_cast<double>(i), m = momentum * q[i] + g;
                y[i] = x[i] - rate * (nesterov ? g + momentum * m : m);
            }
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j)
                    next[i] += w.weight(static_cast<int>(i), static_cast<int>(j)) * y[j];
                q[i] = follow * q[i] + (1.0 - follow) * (x[i] - next[i]) / rate;
            }
            x = next;
        }
        const mixing::quasi_global_momentum method{
            .momentum = momentum, .follow = follow, .nesterov = nesterov};
        const auto left =
            tug_by(gossip{sgd{.learning_rate = rate}, quarters{}, no_control{}, none{}, method},
                   {.ranks = n, .rounds = 7});
        for (std::size_t i = 0; i < n; ++i)
            CHECK(left.x[i][0] == doctest::Approx(x[i]).epsilon(1e-5));
    }
}
