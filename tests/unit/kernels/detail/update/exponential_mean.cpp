#include "sotto/kernels/detail/update/exponential_mean.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::each_lane, sotto::detail::kernels::mean_shares;
using sotto::testing::same_as_plain;

namespace {

SOTTO_UNFUSED float moved(double keep, float x, float mean) {
    SOTTO_UNFUSED_BODY
    const auto kept = static_cast<float>(keep), taken = static_cast<float>(1.0 - keep);
    return taken < 0.5f ? mean + taken * (x - mean) : kept * mean + taken * x;
}

SOTTO_UNFUSED float scaled_difference(float scale, float x, float y) {
    SOTTO_UNFUSED_BODY
    return scale * (x - y);
}

}  // namespace

TEST_CASE("exponential mean: every set and length -> the bits of the plain loop") {
    using namespace sotto::detail::kernels;
    for (const double keep : {0.0, 0.25, 0.5, 0.9, 0.999999}) {
        CAPTURE(keep);
        CHECK(same_as_plain<3>(
            [&](auto set, auto& a) {
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                    set,
                    sotto::detail::kernels::exponential_mean_lanes{
                        sotto::detail::kernels::mean_shares(keep), a[0].data(), a[1].data(),
                        a[2].data()},
                    a[0].size());
            },
            [&](auto& a, std::size_t i) { a[2][i] = moved(keep, a[0][i], a[1][i]); }));
        CHECK(same_as_plain<3>(
            [&](auto set, auto& a) {
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                    set,
                    sotto::detail::kernels::mean_of_difference_lanes{
                        sotto::detail::kernels::mean_shares(keep), 3.0f, a[0].data(), a[1].data(),
                        a[2].data()},
                    a[0].size());
            },
            [&](auto& a, std::size_t i) {
                a[2][i] = moved(keep, scaled_difference(3.0f, a[0][i], a[1][i]), a[2][i]);
            }));
        CHECK(same_as_plain<2>(
            [&](auto, auto& a) { sotto::detail::kernels::move_mean(keep, a[0], a[1], a[1]); },
            [&](auto& a, std::size_t i) { a[1][i] = moved(keep, a[0][i], a[1][i]); }));
    }
}

TEST_CASE("exponential mean: one step from 0 -> 1 - b to the last bits") {
    for (const double keep : {0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0 - 1e-9}) {
        CAPTURE(keep);
        const std::vector<float> x(3, 0.75f);
        std::vector<float> mean(3);
        sotto::detail::kernels::move_mean(keep, x, mean, mean);
        for (const float m : mean) CHECK(std::abs(double{m} / ((1.0 - keep) * 0.75) - 1.0) < 2e-7);
    }
}

TEST_CASE("exponential mean: many steps -> the mean in double, with no drift") {
    // Squares of normal values. 0.99999 as a float would keep 0.14 % too long.
    constexpr std::size_t n = 32;
    for (const double keep : {0.3, 0.9, 0.999, 0.9999, 0.99999}) {
        CAPTURE(keep);
        const int steps = static_cast<int>(std::min(5.0 / (1.0 - keep), 200'000.0)) + 1;
        sotto::random_stream random(3);
        std::vector<float> x(n), mean(n);
        std::vector<double> expected(n);
        for (int step = 0; step < steps; ++step) {
            for (std::size_t i = 0; i < n; ++i) {
                const float value = random.normal();
                x[i] = value * value;
                expected[i] += (1.0 - keep) * (double{x[i]} - expected[i]);
            }
            sotto::detail::kernels::move_mean(keep, x, mean, mean);
        }
        double error = 0.0;
        for (std::size_t i = 0; i < n; ++i) error += double{mean[i]} / expected[i] - 1.0;
        CHECK(std::abs(error / n) < 5e-5);
    }
}

TEST_CASE("exponential mean: difference of near values -> nothing is lost") {
    const std::vector<float> x(5, 1.0f), y(5, 1.0f - 0x1p-23f);
    std::vector<float> mean(5);
    sotto::detail::kernels::move_mean(0.9, 10.0f, x, y, mean);
    for (const float m : mean) CHECK(double{m} == doctest::Approx(0x1p-23).epsilon(1e-6));
}

TEST_CASE("exponential mean: spans of different sizes -> invalid_option") {
    std::vector<float> a(5), few(4);
    CHECK_THROWS_WITH_AS(sotto::detail::kernels::move_mean(0.9, a, few, a),
                         "move_mean: the size of mean is 4; expected 5, the size of x",
                         sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::move_mean(0.9, a, a, few), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::move_mean(0.9, 1.0f, a, few, a), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::move_mean(0.9, 1.0f, a, a, few), sotto::invalid_option);
}
