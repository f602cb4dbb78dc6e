// Strategies that are not synchronous run over the trainer as it is: a server that outlives its
// workers, neighbours that average, groups that start apart.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "static/sketches.hpp"

using namespace sotto;

namespace {

struct outcome {
    std::vector<float> start, parameters;
    fit_report report;
    evaluation before;
};

/// Trains on every rank by `strategy`; tell(trainer, rank) is called at the end.
template <class Strategy, class Tell>
std::vector<outcome> train(int world, const Strategy& strategy, training_length length, Tell tell) {
    static const auto digits = data::digits(600, random_stream{1});
    static const auto unseen = data::digits(100, random_stream{2});
    std::vector<outcome> left(static_cast<std::size_t>(world));
    run_in_process(world, [&](in_process& transport) {
        models::mlp model{784, 16, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10}};
        outcome& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.start.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.before = trainer.evaluate(unseen);
        mine.report = trainer.fit(digits, length, evaluate_on{unseen});
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        tell(trainer, transport.rank());
    });
    return left;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(double{a[i]} - b[i], 2);
    return std::sqrt(squares);
}

}  // namespace

TEST_CASE("a parameter server serves until every worker has finished, and applies all they sent") {
    for (const bool dedicated : {false, true})
        for (const training_length length : std::vector<training_length>{epochs{4}, steps{70}}) {
            CAPTURE(dedicated);
            constexpr int world = 3;
            std::int64_t applied = 0;
            const auto left = train(
                world,
                sketch::parameter_server{sgd{.learning_rate = 0.1}, sketch::asynchronous{},
                                         sketch::delay_compensation_adaptive{.lambda = 2.0},
                                         dedicated},
                length, [&](auto& trainer, int rank) {
                    if (rank == 0) applied = trainer.state().gradients();
                });
            std::int64_t steps_done = 0;
            for (const outcome& rank : left) {
                steps_done += rank.report.steps;
                CHECK(rank.start == left[0].start);
                CHECK(rank.parameters == left[0].parameters);  // pulled after the last gradient
                CHECK(rank.report.evaluated->loss < 0.8 * rank.before.loss);
            }
            CHECK(applied == steps_done);
            CHECK((left[0].report.steps == 0) == dedicated);
        }
}

TEST_CASE("neighbours that average stay together, and each learns") {
    const auto left = train(4,
                            sketch::gossip{momentum_sgd{.learning_rate = 0.05},
                                           sketch::topologies::ring{},
                                           sketch::consensus_control{.rho = 0.25}},
                            epochs{2}, [](auto&, int) {});
    for (const outcome& rank : left) {
        CHECK(rank.start == left[0].start);
        CHECK(rank.report.steps == left[0].report.steps);
        CHECK(rank.report.evaluated->loss < 0.8 * rank.before.loss);
        CHECK(distance(rank.parameters, left[0].parameters) <
              0.1 * distance(rank.parameters, rank.start));
    }
}

TEST_CASE("groups start apart and stay apart; within a group ranks are alike, bit for bit") {
    const auto left = train(
        4,
        sketch::codistillation{
            all_reduce{sgd{.learning_rate = 0.1}, dgc{.density = 0.05}},
            sketch::soft_cross_entropy{.burn_in = 10},
            sketch::checkpoint_exchange{.folder = "teachers", .groups = 2, .every = 5}},
        epochs{2}, [](auto&, int) {});
    for (std::size_t rank = 0; rank < left.size(); ++rank) {
        CHECK(left[rank].start == left[rank % 2].start);
        CHECK(left[rank].parameters == left[rank % 2].parameters);
        CHECK(left[rank].report.evaluated->loss < 0.9 * left[rank].before.loss);
        CHECK(left[rank].report.total.examples == 600);  // each group reads all
    }
    CHECK_FALSE(left[0].start == left[1].start);
    CHECK_FALSE(left[0].parameters == left[1].parameters);
}
