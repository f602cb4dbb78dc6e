#include "sotto/logging/detail/recent_rounds.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "support/allocation_count.hpp"

using namespace sotto;

namespace {

void add(detail::recent_rounds& rounds, std::int64_t step, int milliseconds,
         std::size_t tensors = 2) {
    const std::vector<detail::tensor_times> times(tensors);
    step_report report{.step = step};
    report.round.tensor_times = times;
    report.round.ended = std::chrono::milliseconds(milliseconds);
    rounds.add(report);
}

void begin(detail::recent_rounds& rounds, std::int64_t tensors, int world = 2) {
    layout names;
    for (std::int64_t t = 0; t < tensors; ++t) names.add(std::to_string(t), {1});
    rounds.begin({.world_size = world, .parameters = &names});
}

std::int64_t typical_of(std::initializer_list<int> lengths) {
    detail::recent_rounds rounds;
    begin(rounds, 2);
    std::int64_t step = 0;
    for (const int length : lengths) add(rounds, ++step, length);
    return rounds.typical() ? rounds.typical()->step : 0;
}

}  // namespace

TEST_CASE("the typical round is the median of the last nine") {
    CHECK(typical_of({}) == 0);
    CHECK(typical_of({7}) == 1);
    CHECK(typical_of({7, 6}) == 1);
    CHECK(typical_of({9, 5, 7}) == 3);
    CHECK(typical_of({5, 5, 5}) == 2);
    // The first three are forgotten: of 1 2 3 4 5 6 7 8 100 the fifth.
    CHECK(typical_of({50, 50, 50, 8, 1, 7, 2, 100, 6, 3, 5, 4}) == 11);
}

TEST_CASE("rounds of another fit, of other tensors and of a rank that is alone are not kept") {
    detail::recent_rounds rounds;
    begin(rounds, 2);
    add(rounds, 1, 5, 3);
    CHECK(rounds.typical() == nullptr);
    add(rounds, 2, 5);
    CHECK(rounds.typical()->step == 2);
    begin(rounds, 2);
    CHECK(rounds.typical() == nullptr);
    begin(rounds, 0);
    add(rounds, 3, 5, 0);
    CHECK(rounds.typical() == nullptr);
    begin(rounds, 2, 1);
    add(rounds, 4, 5);
    CHECK(rounds.typical() == nullptr);
}

TEST_CASE("keeping a round takes no memory") {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    detail::recent_rounds rounds;
    begin(rounds, 2);
    const std::array<detail::tensor_times, 2> times{};
    step_report report;
    report.round.tensor_times = times;
    const support::allocation_count count;
    for (report.step = 1; report.step < 30; ++report.step) {
        rounds.add(report);
        CHECK(rounds.typical() != nullptr);
    }
    CHECK(count.on_this_thread() == 0);
}
