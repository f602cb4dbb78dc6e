// 64 ranks of a simulated network train a real model on digits, and learn; twice the same.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/softmax_regression.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/effort.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

constexpr int ranks = testing::tries(64, 16);  // fewer where a sanitizer slows each down

struct outcome {
    detail::simulated_run run;
    double loss = 0.0, accuracy = 0.0;
    std::vector<std::vector<float>> parameters{};
};

template <class Strategy>
outcome learnt(const Strategy& strategy) {
    static const auto digits = data::digits_train_test(1280, 500);
    simulated_options options{.seed = 3};
    options.line = {.out = 1e8, .in = 1e8, .latency = 50us};
    options.slowness = speeds::heavy_tailed{};
    outcome found;
    found.parameters.resize(ranks);
    found.run = run_simulated(ranks, options, [&](simulated& transport) {
        models::softmax_regression model{784, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 320 / ranks, .seed = 1}};
        const auto report = trainer.fit(digits.train, epochs{4}, [&](const step_report&) {
            transport.charge({.flops = 1e8});
            for (int peer = 0; peer < ranks; ++peer)
                REQUIRE(transport.queued_bytes(peer) <= options.budget);
        });
        found.parameters[static_cast<std::size_t>(transport.rank())] = {
            trainer.parameters().begin(), trainer.parameters().end()};
        const auto evaluated = trainer.evaluate(digits.test);
        if (transport.rank() == 0) {
            found.loss = evaluated.loss;
            found.accuracy = evaluated.accuracy;
        }
    });
    return found;
}

template <class Strategy>
void check(const Strategy& strategy, double accuracy) {
    const outcome first = learnt(strategy), again = learnt(strategy);
    MESSAGE("loss " << first.loss << ", accuracy " << first.accuracy << " after "
                    << in_seconds(first.run.took) << " simulated seconds");
    CHECK(first.accuracy > accuracy);
    CHECK(first.run.left == detail::simulated_run::leavings{});
    CHECK(first.run.trace_hash == again.run.trace_hash);
    CHECK(first.loss == again.loss);
    CHECK(first.parameters == again.parameters);
}

}  // namespace

TEST_CASE("64 ranks that average gradients learn digits, twice the same") {
    check(all_reduce{sgd{.learning_rate = 0.5}}, 0.5);
}

TEST_CASE("64 ranks that mix with one peer a step learn digits, twice the same") {
    check(gossip{sgd{.learning_rate = 0.5}, topologies::one_peer_exponential{}}, 0.5);
}

TEST_CASE("63 workers and a server learn digits, twice the same") {
    check(parameter_server{sgd{.learning_rate = 0.5}, bulk_synchronous{}}, 0.5);
}
