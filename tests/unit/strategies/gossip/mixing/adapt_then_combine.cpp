#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/plain_mixing.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::contest, testing::numbered, testing::tug_of_war;

namespace {

constexpr double rate = 0.5;
constexpr float noise = 0.25f;
constexpr std::int64_t steps = 150, settled = 50, size = 1000;  // 1,500 parameters

/// The mean over steps, once settled, of the squared distance between ranks' parameters as a step
/// leaves them, where noise is all that pulls.
template <class Method>
double squared_distance_by(const Method& method, int ranks) {
    const contest of{.ranks = ranks, .apart = 0.0f, .size = size, .noise = noise, .pull = 0.0f};
    const auto count = static_cast<std::size_t>(ranks);
    std::vector<std::vector<std::vector<float>>> x(count);  // by rank and step
    run_in_process(ranks, [&](auto& transport) {
        auto& mine = x[static_cast<std::size_t>(transport.rank())];
        tug_of_war model(transport.rank(), of);
        trainer trainer{
            model,
            gossip{sgd{.learning_rate = rate}, topologies::ring{}, no_control{}, none{}, method},
            transport,
            {.batch_size = 1}};
        trainer.fit(numbered{ranks}, epochs{steps}, [&](const step_report& step) {
            if (step.step > settled)
                mine.emplace_back(trainer.parameters().begin(), trainer.parameters().end());
        });
    });
    double sum = 0.0;
    std::vector<double> values(count);
    for (std::size_t step = 0; step < x[0].size(); ++step)
        for (std::size_t i = 0; i < x[0][step].size(); ++i) {
            for (std::size_t rank = 0; rank < count; ++rank) values[rank] = x[rank][step][i];
            sum += testing::squared_distance_to_mean(values);
        }
    return sum / static_cast<double>(count * x[0].size());
}

/// rate^2 s^2 d / n times the sum over i >= 2 of lambda_i^2 / (1 - lambda_i^2), where ranks mix
/// what steps led to; where they mix before, of 1 / (1 - lambda_i^2).
double closed_form(int ranks, bool combines_first) {
    double sum = 0.0;
    for (int k = 1; k < ranks; ++k) {
        const double lambda = 1.0 / 3 + 2.0 / 3 * std::cos(2.0 * std::numbers::pi * k / ranks);
        sum += (combines_first ? 1.0 : lambda * lambda) / (1.0 - lambda * lambda);
    }
    return rate * rate * noise * noise * 1.5 * size / ranks * sum;
}

}  // namespace

TEST_CASE("noise alone keeps the parameters that a step leaves apart by the closed form, in 3 %") {
    for (const int ranks : {4, 8}) {
        CAPTURE(ranks);
        CHECK(squared_distance_by(mixing::combine_then_adapt{}, ranks) ==
              doctest::Approx(closed_form(ranks, true)).epsilon(0.03));
        CHECK(squared_distance_by(mixing::adapt_then_combine{}, ranks) ==
              doctest::Approx(closed_form(ranks, false)).epsilon(0.03));
        CHECK(closed_form(ranks, true) > 1.5 * closed_form(ranks, false));
    }
}
