#include "sotto/optimizers/scheduled.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"

using namespace sotto;

namespace {

/// How far one weight moves for a gradient of 1: the learning rate.
double rate_of(const auto& options, double epoch, int world) {
    layout tensors;
    tensors.add("w", {1, 1});
    auto state = options.bind(tensors);
    const std::vector<float> gradient{1.0f};
    std::vector<float> w{0.0f};
    state.begin_step({.where = {.epoch = epoch, .world_size = world}}, gradient);
    state.update(tensors[0], w, gradient);
    return -double{w[0]};
}

struct negative {
    double factor(const round_info&) const { return -1.0; }
};

/// Good at the start, and then not: as a decay by a negative factor is.
struct sinking {
    double factor(const round_info& where) const { return 2.0 - static_cast<double>(where.step); }
};

}  // namespace

TEST_CASE("nested schedules multiply, whichever is outside") {
    const step_decay halving{.every_epochs = 2.0, .factor_per_step = 0.5};
    const scheduled inside{scheduled{sgd{.learning_rate = 0.1}, linear_scaling{}}, halving};
    const scheduled outside{scheduled{sgd{.learning_rate = 0.1}, halving}, linear_scaling{}};
    for (const double epoch : {0.0, 1.9, 2.0, 5.0})
        for (const int world : {1, 4}) {
            const double expected = 0.1 * world * halving.factor({.epoch = epoch});
            CHECK(rate_of(inside, epoch, world) == doctest::Approx(expected));
            CHECK(rate_of(outside, epoch, world) == doctest::Approx(expected));
        }
}

TEST_CASE("a schedule of a linear optimizer is linear, of another one it is not") {
    static_assert(detail::linear_optimizer<scheduled<sgd, cosine>>);
    static_assert(detail::linear_optimizer<scheduled<scheduled<sgd, cosine>, linear_scaling>>);
    static_assert(!detail::linear_optimizer<scheduled<momentum_sgd, cosine>>);
    static_assert(!detail::linear_optimizer<clipped<sgd>>);
    static_assert(!detail::linear_optimizer<scheduled<clipped<sgd>, cosine>>);
}

TEST_CASE("a schedule that starts with no usable factor is refused") {
    CHECK_THROWS_WITH_AS((scheduled{sgd{}, negative{}}.bind(layout{})),
                         "scheduled: the schedule's factor at step 0 is -1; it must be "
                         "finite and at least 0",
                         invalid_option);
}

TEST_CASE("a schedule that turns bad later is named when it does") {
    layout tensors;
    tensors.add("w", {1, 1});
    auto state = scheduled{sgd{}, sinking{}}.bind(tensors);
    const std::vector<float> gradient{1.0f};
    CHECK_NOTHROW(state.begin_step({.where = {.step = 2}}, gradient));
    CHECK_THROWS_WITH_AS(state.begin_step({.where = {.step = 3}}, gradient),
                         "scheduled: the schedule's factor at step 3 is -1; it must be "
                         "finite and at least 0",
                         invalid_option);
}
