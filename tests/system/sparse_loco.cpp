// What ranks that meet rarely send, and how well they learn: DiLoCo and SparseLoCo against a
// gradient every step.

#include <doctest/doctest.h>

#include <string>

#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/effort.hpp"

using namespace sotto;
using testing::is_sanitized;
using testing::tries;

namespace {

struct outcome {
    double loss = 0.0, accuracy = 0.0;
    double bytes_a_step = 0.0;  // of one rank's messages
};

/// Four workers train a perceptron.
template <class Strategy>
outcome learnt(const Strategy& strategy) {
    static const auto digits = data::digits_train_test(4000, 1000);
    outcome found;
    run_in_process(4, [&](in_process& transport) {
        models::mlp model{784, 128, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 10}};
        const auto report =
            trainer.fit(digits.train, epochs{tries(18, 2)}, evaluate_on{digits.test});
        if (transport.rank() != 0) return;
        found = {
            report.evaluated->loss, report.evaluated->accuracy,
            static_cast<double>(report.total.message_bytes) / static_cast<double>(report.steps)};
    });
    return found;
}

}  // namespace

TEST_CASE(
    "meeting every 30 steps sends 30 times less, in 2 bits an entry 1,000 times, and learns") {
    const auto checked = [](const std::string& name, const outcome& found, double fewer,
                            const outcome& dense) {
        const double times = dense.bytes_a_step / found.bytes_a_step;
        MESSAGE(name << ": loss " << found.loss << ", accuracy " << found.accuracy << ", " << times
                     << " times fewer bytes");
        CHECK(times >= fewer);
        if (!is_sanitized) CHECK(found.accuracy > dense.accuracy - 0.03);
    };
    const adamw inner{.learning_rate = 0.001};
    const outcome dense = learnt(all_reduce{inner});
    checked("a gradient every step", dense, 1.0, dense);
    checked("DiLoCo", learnt(local_updates{inner, diloco(), {.every = 30}}), 29.0, dense);
    checked("SparseLoCo", learnt(local_updates{inner, sparse_loco(128, 2.0), {.every = 30}}),
            1000.0, dense);
}
