// The fifth of the five programs in small: two groups by all-reduce with DGC teach each other.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"

using namespace sotto;

namespace {

struct outcome {
    std::vector<float> start, parameters;
    fit_report report;
    evaluation before;
    std::int64_t heard = 0;
};

}  // namespace

TEST_CASE("groups start apart and stay apart; within a group ranks are alike, bit for bit") {
    const testing::scratch_folder folder("system_codistillation");
    const auto digits = data::digits(600, random_stream{1});
    const auto unseen = data::digits(100, random_stream{2});
    std::vector<outcome> left(4);
    run_in_process(4, [&](in_process& transport) {
        models::mlp model{784, 16, 10};
        trainer trainer{
            model,
            codistillation{all_reduce{sgd{.learning_rate = 0.1}, dgc{.density = 0.05}},
                           soft_cross_entropy{},
                           checkpoint_exchange{.folder = folder.path(), .in_background = false},
                           {.count = 2, .every = 5, .burn_in = 10, .common = 1.0}},
            transport,
            {.batch_size = 10}};
        outcome& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.start.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.before = trainer.evaluate(unseen);
        mine.report =
            trainer.fit(digits, epochs{2}, evaluate_on{unseen},
                        [&](const step_report& step) { mine.heard += step.round.taught.teachers; });
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    for (std::size_t rank = 0; rank < left.size(); ++rank) {
        const outcome& first = left[rank / 2 * 2];  // of its group
        CHECK(left[rank].start == first.start);
        CHECK(left[rank].parameters == first.parameters);
        CHECK(left[rank].report.evaluated->loss < 0.9 * left[rank].before.loss);
        CHECK(left[rank].report.total.examples == 600);  // each group reads all
    }
    CHECK_FALSE(left[0].start == left[2].start);
    CHECK_FALSE(left[0].parameters == left[2].parameters);
    CHECK(left[0].heard + left[2].heard > 0);  // one of them may be ahead
}
