#include "sotto/logging/detail/run_taught.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/taught_run.hpp"

using namespace sotto;
using testing::taught_run, testing::two_teachers;

TEST_CASE(
    "however points are merged, what teachers taught is of the same steps, and none is lost") {
    constexpr std::int64_t steps = 30'000;
    const run_log log = taught_run(steps);
    const auto& taught = log.taught.points();
    REQUIRE(taught.size() == log.points.size());
    CHECK(log.points.size() <= run_log::points_max);
    two_teachers teachers;
    std::int64_t next = 1;
    for (std::size_t i = 0; i < taught.size(); ++i) {
        detail::taught_means expected;
        double weight_of_1 = 0.0, weight_of_2 = 0.0;
        for (; next <= log.points[i].last_step; ++next) {
            const detail::taught_report round = teachers.at(next);
            ++expected.told;
            if (round.teachers == 0) continue;
            expected.distillation_loss.add(round.distillation_loss);
            expected.age.add(static_cast<double>(round.age));
            weight_of_1 += round.weight / round.teachers;
            if (round.teachers == 2) weight_of_2 += round.weight / 2.0;
        }
        REQUIRE(taught[i].told == expected.told);
        REQUIRE(taught[i].distillation_loss.count == expected.distillation_loss.count);
        REQUIRE(taught[i].distillation_loss.sum == doctest::Approx(expected.distillation_loss.sum));
        REQUIRE(taught[i].age.sum == expected.age.sum);
        REQUIRE(taught[i].weights[0] == doctest::Approx(weight_of_1));
        REQUIRE(taught[i].weights[1] == doctest::Approx(weight_of_2));
    }
    CHECK(next == steps + 1);
    CHECK(log.taught.record.lessons() == steps - 50);
    CHECK(log.total.listening == doctest::Approx(0.002 * (steps - 50)));
}

TEST_CASE("a run without teachers keeps nothing of them, and one that gets some keeps all points") {
    run_log log;
    log.begin({});
    for (std::int64_t s = 1; s <= 100; ++s) log.add(run_log::step{.number = s});
    CHECK(log.taught.points().empty());
    CHECK_FALSE(log.taught.record.is_told());
    two_teachers teachers;
    log.end(1.0, false);
    log.begin({.steps_before = 100});
    log.add(run_log::step{.number = 101, .taught = teachers.at(101)});
    log.add(run_log::step{.number = 102});
    REQUIRE(log.taught.points().size() == 102);
    CHECK(log.taught.points()[99].told == 0);
    CHECK(log.taught.points()[100].told == 1);
    CHECK(log.taught.points()[100].weight(0) == 0.25);
    CHECK(log.taught.points()[101].told == 0);
    CHECK(log.taught.points()[101].weight(0) == 0.0);
}

TEST_CASE("the weight of a teacher is its part of what all weigh, and nothing where it is out") {
    const run_log log = taught_run(500);
    const auto& points = log.taught.points();
    const auto weights_at = [&](std::size_t step) {
        return std::pair{points[step - 1].weight(0), points[step - 1].weight(1)};
    };
    CHECK(weights_at(50) == std::pair{0.0, 0.0});
    CHECK(weights_at(51) == std::pair{0.25, 0.25});
    CHECK(weights_at(400) == std::pair{0.25, 0.25});
    CHECK(weights_at(401) == std::pair{0.5, 0.0});
    CHECK(weights_at(451) == std::pair{0.25, 0.25});
}

TEST_CASE("there may be more teachers than are drawn") {
    run_log log;
    log.begin({});
    std::vector<detail::teacher_status> all;
    for (int group = 0; group < 100; ++group)
        all.push_back({.group = group, .step = 0, .why = detail::left_out::no});
    log.add(
        run_log::step{.number = 1, .taught = {.teachers = 100, .weight = 1.0, .standings = all}});
    CHECK(log.taught.record.teachers().size() == 100);
    for (const double weight : log.taught.points()[0].weights) CHECK(weight == 0.01);
}
