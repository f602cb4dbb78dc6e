// The traces of runs on a simulated network: who did what, when, and which fault, as a hash. Where
// messages depend on no rounding it is the same from every compiler, optimised or not.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

simulated_options uneven(std::uint64_t seed) {
    simulated_options options{.seed = seed};
    options.line = {.out = 1e8, .in = 1e8, .latency = 50us};
    options.machine.flops = 2e6;
    options.slowness = speeds::uniform{};
    options.timeout = 60s;
    return options;
}

/// Trains on whole numbers.
template <class Strategy>
std::uint64_t hash_of(const Strategy& strategy, int ranks, const simulated_options& options) {
    return simulate(ranks, options,
                    [&](simulated& transport) {
                        number_model model;
                        trainer trainer{model, strategy, transport, {.batch_size = 4, .seed = 1}};
                        trainer.fit(numbered{4 * ranks * 6}, epochs{1});
                    })
        .trace_hash;
}

std::uint64_t hash_of_costs(int ranks) {
    return run_simulated(
               ranks, uneven(3),
               [](simulated& transport) {
                   const std::int64_t count = 1'000'000;
                   detail::collectives::all_reduce sum(transport, count);
                   sum.start(size_only<float>(static_cast<std::size_t>(count)), {1, 0, 0});
                   detail::collectives::run(transport, sum);
               })
        .trace_hash;
}

}  // namespace

TEST_CASE("runs that only account for cost have these traces, from every compiler") {
    CHECK(hash_of_costs(2) == 3300178153804150075u);
    CHECK(hash_of_costs(7) == 8458829282289431155u);
}

TEST_CASE("runs on whole numbers have these traces, from every compiler") {
    const sgd plain{.learning_rate = 0.125};
    CHECK(hash_of(all_reduce{plain}, 4, uneven(1)) == 6007621661283270726u);
    CHECK(hash_of(all_reduce{plain}, 4, uneven(2)) == 4500238053658571701u);
    CHECK(hash_of(parameter_server{plain, asynchronous{}}, 5, uneven(1)) == 7828215524677446263u);
    simulated_options harmed = uneven(1);
    harmed.faults = {network_fault::delay(0, 1, 10ms, 50ms, 5ms),
                     network_fault::pause(2, 20ms, 30ms), network_fault::crash(3, 90ms)};
    CHECK(hash_of(all_reduce{plain}, 5, harmed) == 6364972300509648946u);
    harmed.faults.push_back(network_fault::restart(3, 120ms));
    const parameter_server survives{plain, asynchronous{}, no_compensation{}, none{},
                                    serving{.survives = true, .patience = 2.0}};
    CHECK(hash_of(survives, 5, harmed) == 5853812121400892183u);
}

TEST_CASE("whole runs have the same trace twice, and with another seed another one") {
    const parameter_server strategy{sgd{.learning_rate = 0.03125}, asynchronous{},
                                    delay_compensation_adaptive{}, dgc{.density = 0.1}};
    CHECK(hash_of(strategy, 6, uneven(1)) == hash_of(strategy, 6, uneven(1)));
    CHECK(hash_of(strategy, 6, uneven(1)) != hash_of(strategy, 6, uneven(2)));
}
