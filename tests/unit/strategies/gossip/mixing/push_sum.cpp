#include "sotto/strategies/gossip/mixing/push_sum.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/topologies/exponential.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::tug_by;

namespace {

/// Links of one way, so that weights differ.
topologies::edge_list one_way() {
    return {{{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 0}, {3, 1}}, true};
}

}  // namespace

TEST_CASE("by shares the change of a round is of the parameters, not of what is shared out") {
    // x = P (x - r a g(z)) with a = P a;  the change is from x / a to that over the new weight.
    constexpr std::size_t n = 4;
    constexpr int steps = 5;
    constexpr double rate = 0.125;
    const auto state = one_way().bind(n);
    const auto& p = state.matrix(0);
    std::array<double, n> z{}, a{}, change{};
    a.fill(1.0);
    for (int step = 0; step < steps; ++step) {
        std::array<double, n> moved{}, x{}, weight{};
        for (std::size_t i = 0; i < n; ++i)
            moved[i] = a[i] * z[i] - rate * (z[i] - static_cast<double>(i));
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                const double share = i == j ? p.kept_share(static_cast<int>(i))
                                            : p.weight(static_cast<int>(i), static_cast<int>(j));
                x[i] += share * moved[j];
                weight[i] += share * a[j];
            }
        for (std::size_t i = 0; i < n; ++i) {
            change[i] = std::abs(x[i] / weight[i] - moved[i] / a[i]);
            z[i] = x[i] / weight[i];
        }
        a = weight;
    }
    const auto left = tug_by(
        gossip{sgd{.learning_rate = rate}, one_way(), no_control{}, none{}, mixing::push_sum{}},
        {.ranks = n, .rounds = steps, .size = 12});
    for (std::size_t i = 0; i < n; ++i) {
        CHECK(left.x[i][0] == doctest::Approx(z[i]).epsilon(1e-5));
        // Of 18 values a third each has 1, 2 and 3 times the place of the first.
        CHECK(left.last[i].change ==
              doctest::Approx(std::sqrt(6.0 * (1 + 4 + 9)) * change[i]).epsilon(1e-4));
    }
}

TEST_CASE("under control push-sum ends below the target, long before the most rounds") {
    const auto under_control = [](const auto& topology, int ranks) {
        return tug_by(gossip{sgd{.learning_rate = 0.1},
                             topology,
                             consensus_control{.rho = 0.1},
                             none{},
                             mixing::push_sum{},
                             {.measure_every = 1}},
                      {.ranks = ranks, .rounds = 40, .away = 3.0f});
    };
    for (const auto& left :
         {under_control(one_way(), 4), under_control(topologies::one_peer_exponential{}, 8)})
        for (const detail::consensus_report& found : left.last) {
            CHECK(found.rounds > 1);
            CHECK(found.rounds < 30);
            CHECK(found.estimate <= found.target);
            CHECK(found.estimate == left.last[0].estimate);
            CHECK(found.distance <= found.target);
        }
}

TEST_CASE("what a rank has must come to all others over links of one way") {
    const auto by = [](const topologies::edge_list& graph) {
        return gossip{sgd{}, graph, no_control{}, none{}, mixing::push_sum{}};
    };
    CHECK_NOTHROW(testing::train(4, by(one_way())));
    CHECK_THROWS_WITH(testing::train(4, by({{{0, 1}, {1, 2}, {2, 0}, {2, 3}}, true})),
                      doctest::Contains("what rank 3 has never comes to rank 0"));
    CHECK_THROWS_WITH(testing::train(4, by({{{0, 1}, {1, 2}, {2, 0}, {3, 1}}, true})),
                      doctest::Contains("what rank 0 has never comes to rank 3"));
}

TEST_CASE("the mean that is evaluated, and distances are from, is what all have over all weights") {
    constexpr int ranks = 4;
    std::vector<double> weight(ranks), x(ranks), found(ranks);
    std::vector<std::vector<float>> all(ranks);
    double distance = 0.0;
    run_in_process(ranks, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        testing::tug_of_war model(transport.rank(), {.ranks = ranks});
        trainer trainer{model,
                        gossip{sgd{.learning_rate = 0.25}, one_way(), no_control{}, none{},
                               mixing::push_sum{}, gossip_options{.measure_every = 1}},
                        transport,
                        {.batch_size = 1}};
        trainer.fit(testing::numbered{ranks}, epochs{5}, [&](const step_report& step) {
            if (me == 0) distance = step.round.consensus.distance;
        });
        weight[me] = trainer.state().weight();
        x[me] = trainer.parameters()[0];
        all[me].assign(trainer.parameters().begin(), trainer.parameters().end());
        found[me] = trainer.evaluate(testing::numbered{ranks}).loss;  // the first of the mean
    });
    double shared_out = 0.0, weights = 0.0, plain = 0.0;
    for (std::size_t i = 0; i < ranks; ++i) {
        shared_out += weight[i] * x[i];
        weights += weight[i];
        plain += x[i] / ranks;
    }
    CHECK(weights == doctest::Approx(ranks).epsilon(1e-6));
    for (const double mean : found) CHECK(mean == doctest::Approx(shared_out / weights));
    CHECK(std::abs(shared_out / weights - plain) > 0.01);  // weights differ
    double squares = 0.0;
    for (std::size_t k = 0; k < all[0].size(); ++k) {
        double mean = 0.0;
        for (std::size_t i = 0; i < ranks; ++i) mean += weight[i] * all[i][k] / weights;
        for (const auto& of_rank : all) squares += (of_rank[k] - mean) * (of_rank[k] - mean);
    }
    CHECK(distance == doctest::Approx(std::sqrt(squares / ranks)).epsilon(1e-5));
}
