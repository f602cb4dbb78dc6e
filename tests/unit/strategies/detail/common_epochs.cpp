#include "sotto/strategies/detail/common_epochs.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

namespace {

/// What each rank agrees to, where each begins an epoch by its own plan.
std::vector<detail::epoch_agreement> agreed(const std::vector<detail::epoch_plan>& plans) {
    std::vector<detail::epoch_agreement> found(plans.size());
    run_in_process(static_cast<int>(plans.size()), [&](auto& transport) {
        const auto own = static_cast<std::size_t>(transport.rank());
        found[own] = detail::common_epochs(transport).begin(plans[own]);
    });
    return found;
}

}  // namespace

TEST_CASE("common_epochs: any one rank wants to stop -> all ranks stop") {
    constexpr std::size_t ranks = 3;
    for (std::size_t one = 0; one <= ranks; ++one) {
        CAPTURE(one);
        std::vector<detail::epoch_plan> plans(ranks, {.examples = 8, .batch_size = 4});
        if (one < ranks) plans[one].stop = 1;
        for (const detail::epoch_agreement& rank : agreed(plans)) CHECK(rank.stop == (one < ranks));
    }
}

TEST_CASE("common_epochs: any one rank has most data -> all ranks do its rounds") {
    constexpr std::size_t ranks = 3;
    for (std::size_t one = 0; one < ranks; ++one) {
        CAPTURE(one);
        std::vector<detail::epoch_plan> plans(ranks, {.examples = 8, .batch_size = 4});
        plans[one].examples = 17;
        for (const detail::epoch_agreement& rank : agreed(plans)) CHECK(rank.rounds == 5);
    }
}

TEST_CASE("common_epochs: another batch size or first round -> mismatch names the rank") {
    const detail::epoch_plan plan{.examples = 8, .batch_size = 4};
    detail::epoch_plan larger = plan, later = plan;
    larger.batch_size = 5;
    later.first_round = 1;
    for (const detail::epoch_plan& other : {larger, later})
        CHECK_THROWS_AS(agreed({plan, other}), mismatch);
    detail::epoch_plan negative = plan;
    negative.examples = -1;
    CHECK_THROWS_AS(agreed({plan, negative}), mismatch);
}

TEST_CASE("common_epochs: ranks with unlike shares -> each round counts what was read") {
    const std::vector<detail::epoch_plan> plans{{.examples = 10, .batch_size = 4},
                                                {.examples = 3, .batch_size = 4}};
    std::vector<std::vector<std::int64_t>> counted(2);
    run_in_process(2, [&](auto& transport) {
        const auto own = static_cast<std::size_t>(transport.rank());
        detail::common_epochs epochs(transport);
        const auto rounds = epochs.begin(plans[own]).rounds;
        for (std::int64_t round = 0; round < rounds; ++round, epochs.end_round())
            counted[own].push_back(epochs.examples_of_round());
    });
    for (const auto& rank : counted) CHECK(rank == std::vector<std::int64_t>{7, 4, 2});
}
