#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/distillation/distillation_weight.hpp"

using namespace sotto;

static_assert(detail::distillation_weight<constant_weight>);
static_assert(detail::distillation_weight<ramped_weight>);
static_assert(detail::distillation_weight<decayed_weight>);

TEST_CASE("weights stay, grow to theirs, or halve") {
    CHECK(constant_weight{}.at(0) == 1.0);
    CHECK(constant_weight{.weight = 0.5}.at(1000000) == 0.5);

    const ramped_weight ramp{.weight = 2.0, .steps = 4};
    CHECK(ramp.at(0) == 0.5);
    CHECK(ramp.at(2) == 1.5);
    CHECK(ramp.at(3) == 2.0);
    CHECK(ramp.at(100) == 2.0);

    const decayed_weight decay{.weight = 3.0, .half_life = 10};
    CHECK(decay.at(0) == 3.0);
    CHECK(decay.at(10) == 1.5);
    CHECK(decay.at(30) == doctest::Approx(0.375));
}

TEST_CASE("weights that cannot be are refused by name") {
    const auto why = [](const auto& weight) -> std::string {
        try {
            weight.check();
        } catch (const invalid_option& e) {
            return e.what();
        }
        return "";
    };
    CHECK(why(constant_weight{}) == "");
    CHECK(why(constant_weight{.weight = 0.0}) == "");
    CHECK(why(constant_weight{.weight = -1.0}) ==
          "constant_weight: weight is -1; it must be finite and at least 0");
    CHECK(why(ramped_weight{.weight = std::nan("")}).starts_with("ramped_weight: weight is "));
    CHECK(why(ramped_weight{.steps = 0}) == "ramped_weight: steps is 0; it must be at least 1");
    CHECK(why(decayed_weight{.half_life = -5}) ==
          "decayed_weight: half_life is -5; it must be at least 1");
    CHECK(why(decayed_weight{.weight = HUGE_VAL}).starts_with("decayed_weight: weight is inf"));
}
