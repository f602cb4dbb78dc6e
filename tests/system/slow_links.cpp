// One rank of a job on a slow link, whose queue delays signs of life by more than
// tcp_options::dead_after. tests/system/long_slow_links.sh starts the ranks, each in a network
// namespace; alone this test does nothing.
//
//   SOTTO_SLOW_STEPS    steps; 3
//   SOTTO_SLOW_VALUES   parameters, each 4 bytes; 5000
//   SOTTO_SLOW_PATTERN  0: a ring sums gradients; 1: a server and its workers

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sotto/core/clock.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/launch/environment.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

template <class Strategy>
void train(tcp& transport, const Strategy& strategy) {
    const auto steps = static_cast<std::int64_t>(number_from("SOTTO_SLOW_STEPS", 3));
    const auto values = static_cast<std::int64_t>(number_from("SOTTO_SLOW_VALUES", 5000));
    layout tensors;
    tensors.add("w", {values});
    number_model model(tensors);
    trainer trainer{model, strategy, transport, {.batch_size = 1}};
    const auto began = std::chrono::steady_clock::now();
    const auto report = trainer.fit(numbered{steps * transport.size()}, epochs{1});
    CHECK(report.steps == steps);
    if (transport.rank() == 0)
        std::printf("%d ranks: %.0f s for %lld steps\n", transport.size(),
                    in_seconds(std::chrono::steady_clock::now() - began),
                    static_cast<long long>(report.steps));
}

}  // namespace

TEST_CASE("tcp: a queue that delays signs of life -> the job trains to its end") {
    if (!std::getenv("SOTTO_RANK")) {
        MESSAGE("skipped: long_slow_links.sh runs it, in network namespaces");
        return;
    }
    tcp_options options = tcp_options::at(launch::from_environment());
    options.insecure_network = true;  // of a namespace
    options.timeout = 600s;
    tcp transport = tcp::join(options);
    if (number_from("SOTTO_SLOW_PATTERN", 0) == 0)
        train(transport, all_reduce{sgd{.learning_rate = 0.125}});
    else
        train(transport, parameter_server{sgd{.learning_rate = 0.125}});
}
