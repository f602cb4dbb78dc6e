#include "sotto/strategies/detail/parameter_server/staleness_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using testing::number_model, testing::numbered;

namespace {

using counts = std::vector<std::int64_t>;

/// Of three workers of different speeds, the staleness of each round as the worker reports it.
/// Checks that the server counts the same.
template <class Consistency>
std::vector<counts> reported_by(const Consistency& consistency) {
    std::vector<counts> reported(3), counted(3);
    simulated_options network;
    network.slowness = speeds::exponential{};
    network.machine.flops = 1e6;
    run_simulated(3, network, [&](auto& transport) {
        counts& mine = reported[static_cast<std::size_t>(transport.rank())];
        number_model model;
        trainer trainer{model, parameter_server{sgd{}, consistency}, transport, {.batch_size = 4}};
        trainer.fit(numbered{240}, epochs{1}, [&](const step_report& step) {
            REQUIRE(step.round.staleness >= 0);
            const auto late = static_cast<std::size_t>(step.round.staleness);
            mine.resize(std::max(mine.size(), late + 1));
            ++mine[late];
        });
        if (transport.rank() != 0) return;
        for (int worker = 0; worker < 3; ++worker) {
            const auto of = trainer.state().server()->staleness().of(worker);
            counted[static_cast<std::size_t>(worker)].assign(of.begin(), of.end());
        }
    });
    CHECK(reported == counted);
    return reported;
}

}  // namespace

TEST_CASE("staleness: workers of different speeds -> each reports what the server counts") {
    const auto found = reported_by(asynchronous{});
    CHECK(std::any_of(found.begin(), found.end(), [](const counts& c) { return c.size() > 1; }));
}

TEST_CASE("staleness: workers wait for each other -> 0 in every round") {
    for (const counts& worker : reported_by(bulk_synchronous{})) CHECK(worker == counts{20});
}

TEST_CASE("staleness_counts: beyond the last count -> the last count") {
    detail::staleness_counts late(2);
    for (const std::int64_t steps : {0, 2, 2, 4095, 4096, 1'000'000}) late.add(1, steps);
    late.add(1, -1);
    CHECK(late.of(0).empty());
    REQUIRE(late.of(1).size() == 4096);
    CHECK(late.of(1)[0] == 2);
    CHECK(late.of(1)[2] == 2);
    CHECK(late.of(1)[4095] == 3);
    CHECK(late.mean(0) == 0.0);
    CHECK(late.mean(1) == (2.0 * 2 + 3.0 * 4095) / 7);
}
