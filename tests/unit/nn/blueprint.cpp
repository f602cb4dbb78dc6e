#include "sotto/nn/blueprint.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

using sotto::detail::nn::start;
using sotto::nn::blueprint;

TEST_CASE("weights start uniform within the bound they ask for, biases at zero") {
    blueprint plan;
    const auto he = plan.add_weight("a", {100, 50}, sotto::detail::nn::start::he, 50, 100);
    const auto bias = plan.add_bias("a", 100);
    const auto glorot = plan.add_weight("b", {100, 50}, sotto::detail::nn::start::glorot, 50, 100);
    const auto lecun = plan.add_weight("c", {100, 50}, sotto::detail::nn::start::lecun, 50, 100);
    std::vector<float> all(static_cast<std::size_t>(plan.tensors().size()), std::nanf(""));
    plan.initialise(all, sotto::random_stream{5});
    const auto check = [&](const sotto::tensor& t, double limit) {
        double largest = 0.0, sum = 0.0, squares = 0.0;
        for (const float x : t.of(std::span<const float>(all))) {
            largest = std::max(largest, std::abs(double{x}));
            sum += x;
            squares += double{x} * x;
        }
        CHECK(largest <= limit * (1.0 + 1e-6));
        CHECK(largest > 0.99 * limit);
        CHECK(std::abs(sum / 5000.0) < 4.0 * limit / std::sqrt(3.0 * 5000.0));
        CHECK(squares / 5000.0 == doctest::Approx(limit * limit / 3.0).epsilon(0.05));
    };
    check(he, std::sqrt(6.0 / 50.0));
    check(glorot, std::sqrt(6.0 / 150.0));
    check(lecun, std::sqrt(3.0 / 50.0));
    for (const float x : bias.of(std::span<const float>(all))) CHECK(x == 0.0f);
}

TEST_CASE("a tensor starts alike whatever else is in the network") {
    blueprint one, two;
    one.add_weight("a", {3, 4}, sotto::detail::nn::start::he, 4, 3);
    two.add_weight("other", {7}, sotto::detail::nn::start::he, 7, 1);
    const auto second = two.add_weight("a", {3, 4}, sotto::detail::nn::start::he, 4, 3);
    std::vector<float> x(12), y(19);
    one.initialise(x, sotto::random_stream{5});
    two.initialise(y, sotto::random_stream{5});
    CHECK(std::equal(x.begin(), x.end(), second.of(std::span(y)).begin()));
    std::vector<float> z(12);
    one.initialise(z, sotto::random_stream{6});
    CHECK(x != z);
}
