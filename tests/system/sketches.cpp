// What the library has not yet runs over the trainer as it is: groups that start apart.

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
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

}  // namespace

TEST_CASE("groups start apart and stay apart; within a group ranks are alike, bit for bit") {
    const auto left =
        train(4,
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
