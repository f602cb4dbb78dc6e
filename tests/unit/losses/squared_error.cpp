#include "sotto/losses/squared_error.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>

using sotto::squared_error;

static_assert(sotto::loss<squared_error>);

TEST_CASE("squared error and its gradient are those worked out by hand") {
    const std::array<float, 6> logits{1.0f, 2.0f, 3.0f, 0.0f, 0.0f, 1.0f};
    const std::array<std::int32_t, 2> labels{0, 2};
    std::array<float, 6> gradient;
    gradient.fill(std::nanf(""));
    CHECK(squared_error{}.gradient(logits, labels, gradient) == (0.5 * (4.0 + 9.0) + 0.0) / 2.0);
    CHECK(gradient == std::array<float, 6>{0.0f, 1.0f, 1.5f, 0.0f, 0.0f, 0.0f});
    CHECK(squared_error{}.value(logits, labels) == 3.25);
}

TEST_CASE("squared error of no examples is zero, and misuse is refused") {
    const std::array<float, 4> logits{};
    const std::array<std::int32_t, 2> labels{0, 2};
    std::array<float, 3> out{};
    CHECK(squared_error{}.gradient({}, {}, {}) == 0.0);
    CHECK_THROWS_AS(squared_error{}.value(logits, labels), sotto::invalid_option);
    CHECK_THROWS_AS(squared_error{}.gradient(logits, std::array<std::int32_t, 2>{0, 1}, out),
                    sotto::invalid_option);
}
