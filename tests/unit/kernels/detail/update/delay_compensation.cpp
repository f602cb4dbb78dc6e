#include "sotto/kernels/detail/update/delay_compensation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::each_lane;
using sotto::testing::same_as_plain;
using sotto::testing::same_values;

namespace {

constexpr float rate = 0.3f, lambda = 0.04f;
constexpr float largest = std::numeric_limits<float>::max();
constexpr sotto::detail::kernels::adaptive_compensation adaptive{.lambda = 2.0f, .decay = 0.9};

SOTTO_UNFUSED float compensated(float by, float g, float w, float before) {
    SOTTO_UNFUSED_BODY
    return by == 0.0f ? g : g - (by * g) * (g * (before - w));
}

SOTTO_UNFUSED float adapted(float g, float& s) {
    SOTTO_UNFUSED_BODY
    s = s + 0.1f * (g * g - s);
    const float by = adaptive.lambda / std::sqrt(s + adaptive.epsilon);
    if (s > largest) s = largest;
    return by;
}

SOTTO_UNFUSED void plain_descend(float& w, float g) {
    SOTTO_UNFUSED_BODY
    w -= rate * g;
}

std::vector<float> finite_gradients() {
    auto g = sotto::testing::normal_values(100, 1);
    g[0] = -0.0f;
    g[1] = 0.0f;
    g[2] = 1e-40f;
    g[3] = -3e38f;
    return g;
}

}  // namespace

TEST_CASE("delay compensation gives the bits of the plain loop on every set, at every length") {
    using namespace sotto::detail::kernels;
    // Arrays: gradient or weights, the weights before, the weights or gradient, the mean square.
    CHECK(same_as_plain<3>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::compensate_lanes{lambda, a[0].data(), a[2].data(),
                                                         a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { a[0][i] = compensated(lambda, a[0][i], a[2][i], a[1][i]); }));
    CHECK(same_as_plain<3>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::descend_compensated_lanes{rate, lambda, a[0].data(),
                                                                  a[2].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) {
            plain_descend(a[0][i], compensated(lambda, a[2][i], a[0][i], a[1][i]));
        }));
    CHECK(same_as_plain<4>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::compensate_adaptively_lanes{
                    adaptive, a[0].data(), a[3].data(), a[2].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) {
            const float by = adapted(a[0][i], a[3][i]);
            a[0][i] = compensated(by, a[0][i], a[2][i], a[1][i]);
        }));
    CHECK(same_as_plain<4>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::descend_compensated_adaptively_lanes{
                    rate, adaptive, a[0].data(), a[3].data(), a[2].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) {
            const float by = adapted(a[2][i], a[3][i]);
            plain_descend(a[0][i], compensated(by, a[2][i], a[0][i], a[1][i]));
        }));
}

TEST_CASE("the fused step is compensation and then descent, bit for bit") {
    const auto w = sotto::testing::normal_values(1000, 1),
               g = sotto::testing::normal_values(1000, 2),
               before = sotto::testing::normal_values(1000, 3);
    auto fused = w, apart = w, changed = g;
    sotto::detail::kernels::descend_compensated(rate, lambda, fused, g, before);
    sotto::detail::kernels::compensate_delay(lambda, changed, w, before);
    sotto::detail::kernels::descend(rate, apart, changed);
    CHECK(fused == apart);

    fused = apart = w;
    changed = g;
    std::vector<float> s(1000), other(1000);
    sotto::detail::kernels::descend_compensated(rate, adaptive, fused, g, before, s);
    sotto::detail::kernels::compensate_delay(adaptive, changed, w, before, other);
    sotto::detail::kernels::descend(rate, apart, changed);
    CHECK(fused == apart);
    CHECK(s == other);
}

TEST_CASE("a gradient that is not late, and any without lambda, stays what it is to the bit") {
    const auto g = finite_gradients();
    const auto w = sotto::testing::normal_values(100, 2);
    const auto elsewhere = sotto::testing::normal_values(100, 3);
    auto found = g;
    sotto::detail::kernels::compensate_delay(lambda, found, w, w);
    CHECK(same_values(found, g));
    std::vector<float> s(100);
    sotto::detail::kernels::compensate_delay(adaptive, found, w, w, s);
    CHECK(same_values(found, g));

    auto plain = w, compensated = w;
    sotto::detail::kernels::descend(rate, plain, g);
    sotto::detail::kernels::descend_compensated(rate, lambda, compensated, g, w);
    CHECK(same_values(compensated, plain));
    compensated = w;
    sotto::detail::kernels::descend_compensated(rate, 0.0f, compensated, g, elsewhere);
    CHECK(same_values(compensated, plain));
    compensated = w;
    const sotto::detail::kernels::adaptive_compensation none{.lambda = 0.0f};
    sotto::detail::kernels::descend_compensated(rate, none, compensated, g, elsewhere, s);
    CHECK(same_values(compensated, plain));

    // Weights above and below the earlier ones, and so far that the product is infinite.
    for (const float by : {1.0f, -1.0f, 1e30f}) {
        auto before = w;
        for (float& weight : before) weight += by;
        sotto::detail::kernels::compensate_delay(0.0f, found, w, before);
        CHECK(same_values(found, g));
        sotto::detail::kernels::compensate_delay(none, found, w, before, s);
        CHECK(same_values(found, g));
    }
}

TEST_CASE("a finite gradient of any size is forgotten, and leaves gradients and weights finite") {
    const std::vector<float> before(20, 0.5f);
    for (const float size : {1e18f, 2e19f, -3e38f})
        for (const float decay : {0.0f, 0.5f, 0.95f}) {
            const sotto::detail::kernels::adaptive_compensation by{.lambda = 2.0f, .decay = decay};
            std::vector<float> w(20, 1.0f), s(20), other(20), g(20, size);
            sotto::detail::kernels::descend_compensated(1e-30f, by, w, g, before, s);
            sotto::detail::kernels::compensate_delay(by, g, w, before, other);
            CHECK(s == other);
            for (std::size_t i = 0; i < g.size(); ++i) {
                CHECK(s[i] <= largest);
                CHECK(std::isfinite(w[i]));
                CHECK(std::isfinite(g[i]));
            }
            if (size < 0.0f) CHECK(g == std::vector<float>(20, size));  // s was beyond all floats
            // 0.95^2500 is 2e-56.
            const int steps = decay == 0.0f ? 1 : 2500;
            for (int step = 0; step < steps; ++step) {
                g.assign(20, 0.125f);
                sotto::detail::kernels::compensate_delay(by, g, w, before, s);
            }
            for (const float square : s) CHECK(square == doctest::Approx(0.015625f));
        }
}

TEST_CASE("on a parabola with lambda g^2 = h the late gradient becomes the fresh one") {
    // f = h (w - a)^2 / 2 at before = 3: g = h (3 - a). With h = 2, a = 1: g = 4, lambda = 1/8.
    constexpr float h = 2.0f, a = 1.0f, before = 3.0f;
    for (const float w : {-1.0f, 0.5f, 1.0f, 7.0f}) {
        std::vector<float> g(20, h * (before - a));
        sotto::detail::kernels::compensate_delay(0.125f, g, std::vector<float>(20, w),
                                                 std::vector<float>(20, before));
        CHECK(g == std::vector<float>(20, h * (w - a)));
    }
}

TEST_CASE("the mean square follows the gradient, and without memory the correction is linear") {
    const auto g = sotto::testing::normal_values(64, 5);
    const std::vector<float> w(64, 1.0f), before(64, 0.25f);
    std::vector<float> s(64);
    auto changed = g;
    sotto::detail::kernels::compensate_delay({.lambda = 2.0f, .decay = 0.75f}, changed, w, before,
                                             s);
    for (std::size_t i = 0; i < g.size(); ++i) CHECK(s[i] == 0.25f * (g[i] * g[i]));

    changed = g;
    sotto::detail::kernels::compensate_delay({.lambda = 2.0f, .decay = 0.0f, .epsilon = 1e-30f},
                                             changed, w, before,
                                             s);  // then lambda g^2 is 2 |g|
    for (std::size_t i = 0; i < g.size(); ++i)
        CHECK(changed[i] == doctest::Approx(g[i] + 2.0f * std::abs(g[i]) * 0.75f).epsilon(1e-6));
}

TEST_CASE("delay compensation refuses spans of different sizes, and an epsilon of 0") {
    std::vector<float> a(5), few(4), many(6);
    for (const float epsilon : {0.0f, -1e-7f, std::nanf("")}) {
        const sotto::detail::kernels::adaptive_compensation by{.epsilon = epsilon};
        CHECK_THROWS_AS(sotto::detail::kernels::compensate_delay(by, a, a, a, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_compensated(rate, by, a, a, a, a),
                        sotto::invalid_option);
    }
    CHECK_THROWS_WITH(sotto::detail::kernels::compensate_delay({.epsilon = -1e-7f}, a, a, a, a),
                      "compensate_delay: epsilon is -1e-07; expected above 0");
    CHECK_THROWS_WITH(sotto::detail::kernels::compensate_delay(lambda, a, a, few),
                      "compensate_delay: the size of before is 4; expected 5, the size of g");
    for (auto* wrong : {&few, &many}) {
        CHECK_THROWS_AS(sotto::detail::kernels::compensate_delay(lambda, a, *wrong, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::compensate_delay(lambda, a, a, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::compensate_delay(adaptive, a, a, a, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_compensated(rate, lambda, a, *wrong, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_compensated(rate, lambda, a, a, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(
            sotto::detail::kernels::descend_compensated(rate, adaptive, a, a, *wrong, a),
            sotto::invalid_option);
        CHECK_THROWS_AS(
            sotto::detail::kernels::descend_compensated(rate, adaptive, a, a, a, *wrong),
            sotto::invalid_option);
    }
}
