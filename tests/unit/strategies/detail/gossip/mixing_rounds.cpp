#include "sotto/strategies/detail/gossip/mixing_rounds.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>

#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/mixing/d_squared.hpp"
#include "sotto/strategies/gossip/mixing/gradient_tracking.hpp"
#include "sotto/strategies/gossip/mixing/slow_momentum.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::number_model, testing::numbered;

namespace {

/// check(round, parameters) for each step of a ring of 5.
template <class Control, class Mixing, class Check>
void each_round(Control control, Mixing mixing, Check check) {
    run_in_process(5, [&](auto& transport) {
        number_model model;
        const gossip strategy{sgd{.learning_rate = 0.0625}, topologies::ring{}, control, none{},
                              mixing};
        trainer trainer{model, strategy, transport, {.batch_size = 8}};
        trainer.fit(numbered{160}, epochs{1},
                    [&](const step_report& step) { check(step.round, trainer.tensors().size()); });
    });
}

}  // namespace

TEST_CASE("what is said to go to a neighbour goes to each of them, a companion too") {
    const auto check = [](auto mixing, std::int64_t floats) {
        for (const int rounds : {1, 3})
            each_round(fixed_rounds{rounds}, mixing,
                       [&](const round_report& round, std::int64_t parameters) {
                           CHECK(round.message_bytes == 4 * floats * rounds * parameters);
                           CHECK(round.bytes_sent == 2 * round.message_bytes);
                           CHECK(round.tensor_message_bytes[0] == 4 * floats * rounds * 300);
                       });
    };
    check(mixing::adapt_then_combine{}, 1);
    check(mixing::combine_then_adapt{}, 1);
    check(mixing::d_squared{}, 1);
    check(mixing::gradient_tracking{}, 2);
}

TEST_CASE("a companion goes to neighbours where parameters become the mean of all, too") {
    std::atomic<int> means = 0;  // in which other ranks hear of parameters than neighbours
    each_round(no_control{}, mixing::slow_momentum{mixing::gradient_tracking{}, 2},
               [&](const round_report& round, std::int64_t parameters) {
                   CHECK(round.message_bytes == 2 * 4 * parameters);
                   if (round.bytes_sent != 2 * round.message_bytes) ++means;
               });
    CHECK(means > 0);
}
