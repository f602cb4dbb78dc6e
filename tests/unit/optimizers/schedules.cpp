#include "sotto/optimizers/schedules.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>

using namespace sotto;

namespace {

double at(const auto& schedule, double epoch, int world = 1) {
    return schedule.factor({.epoch = epoch, .world_size = world});
}

}  // namespace

TEST_CASE("step decay multiplies at whole multiples of its period and not before") {
    const step_decay schedule{.every_epochs = 30.0, .factor_per_step = 0.1};
    CHECK(at(schedule, 0.0) == 1.0);
    CHECK(at(schedule, 29.999) == 1.0);
    CHECK(at(schedule, 30.0) == doctest::Approx(0.1));
    CHECK(at(schedule, 59.9) == doctest::Approx(0.1));
    CHECK(at(schedule, 60.0) == doctest::Approx(0.01));
    CHECK(at(step_decay{.every_epochs = 0.5, .factor_per_step = 0.5}, 1.6) == 0.125);
}

TEST_CASE("the cosine falls from one to its final factor and stays there") {
    const cosine schedule{.epochs = 8.0, .final_factor = 0.2};
    CHECK(at(schedule, 0.0) == 1.0);
    CHECK(at(schedule, 4.0) == doctest::Approx(0.6));
    CHECK(at(schedule, 2.0) ==
          doctest::Approx(0.2 + 0.8 * 0.5 * (1.0 + std::cos(std::numbers::pi / 4.0))));
    CHECK(at(schedule, 8.0) == doctest::Approx(0.2));
    CHECK(at(schedule, 1000.0) == doctest::Approx(0.2));
    CHECK(at(cosine{.epochs = 0.0}, 0.0) == doctest::Approx(0.0));
    for (double epoch = 0.0; epoch < 9.0; epoch += 0.25)
        CHECK(at(schedule, epoch + 0.25) <= at(schedule, epoch));
}

TEST_CASE("the warm-up rises in a line and then is one") {
    const rate_warm_up schedule{.epochs = 5.0, .initial_factor = 0.1};
    CHECK(at(schedule, 0.0) == doctest::Approx(0.1));
    CHECK(at(schedule, 2.5) == doctest::Approx(0.55));
    CHECK(at(schedule, 5.0) == 1.0);
    CHECK(at(schedule, 50.0) == 1.0);
    CHECK(at(rate_warm_up{.epochs = 0.0}, 0.0) == 1.0);
}

TEST_CASE("linear scaling is the number of workers at any time") {
    for (const int world : {1, 2, 64})
        for (const double epoch : {0.0, 10.0}) CHECK(at(linear_scaling{}, epoch, world) == world);
    CHECK(at(constant_rate{}, 3.0, 5) == 1.0);
}
