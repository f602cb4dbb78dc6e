#include "sotto/kernels/detail/update/updates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::each_lane;
using sotto::testing::same_as_plain;

namespace {

constexpr float rate = 0.3f, decay = 0.01f, momentum = 0.9f;

SOTTO_UNFUSED void plain_descend(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    a[0][i] -= rate * a[1][i];
}

template <bool Nesterov>
SOTTO_UNFUSED void plain_with_decay(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    float &w = a[0][i], &g = a[1][i], &b = a[2][i];
    const float d = decay * w;
    b = momentum * b + d;
    w -= rate * (g + (Nesterov ? d + momentum * b : b));
}

template <bool Nesterov>
SOTTO_UNFUSED void plain_with_momentum(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    float &w = a[0][i], &g = a[1][i], &u = a[2][i];
    const float d = g + decay * w;
    u = momentum * u + d;
    w -= rate * (Nesterov ? d + momentum * u : u);
}

constexpr sotto::detail::kernels::adamw_step step{.rate = rate,
                                                  .decay = decay,
                                                  .beta1 = 0.9,
                                                  .beta2 = 0.999,
                                                  .epsilon = 1e-8f,
                                                  .correction1 = 5.0f,
                                                  .correction2 = 500.0f};

SOTTO_UNFUSED void plain_adamw(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    float &w = a[0][i], &g = a[1][i], &m = a[2][i], &v = a[3][i];
    m = m + 0.1f * (g - m);
    v = v + 0.001f * (g * g - v);
    if (v > std::numeric_limits<float>::max()) v = std::numeric_limits<float>::max();
    const float by = m * step.correction1 / (std::sqrt(v * step.correction2) + step.epsilon);
    w -= step.rate * (step.decay * w + by);
}

}  // namespace

TEST_CASE("the updates give the bits of the plain loop on every set, at every length") {
    CHECK(same_as_plain<2>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set, sotto::detail::kernels::descend_lanes{rate, a[0].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { plain_descend(a, i); }));
    const auto with_buffer = [](auto lanes, auto plain) {
        return same_as_plain<3>(
            [&](auto set, auto& a) {
                lanes.w = a[0].data();
                lanes.g = a[1].data();
                if constexpr (requires { lanes.b; })
                    lanes.b = a[2].data();
                else
                    lanes.u = a[2].data();
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(set, lanes,
                                                                                       a[0].size());
            },
            plain);
    };
    using namespace sotto::detail::kernels;
    CHECK(with_buffer(
        sotto::detail::kernels::descend_with_decay_lanes<false>{rate, decay, momentum, {}, {}, {}},
        [](auto& a, std::size_t i) { plain_with_decay<false>(a, i); }));
    CHECK(with_buffer(
        sotto::detail::kernels::descend_with_decay_lanes<true>{rate, decay, momentum, {}, {}, {}},
        [](auto& a, std::size_t i) { plain_with_decay<true>(a, i); }));
    CHECK(with_buffer(
        sotto::detail::kernels::descend_with_momentum_lanes<false>{
            rate, decay, momentum, {}, {}, {}},
        [](auto& a, std::size_t i) { plain_with_momentum<false>(a, i); }));
    CHECK(with_buffer(
        sotto::detail::kernels::descend_with_momentum_lanes<true>{
            rate, decay, momentum, {}, {}, {}},
        [](auto& a, std::size_t i) { plain_with_momentum<true>(a, i); }));
    CHECK(same_as_plain<4>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::descend_adamw_lanes{step, a[0].data(), a[2].data(),
                                                            a[3].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { plain_adamw(a, i); }));
}

TEST_CASE("the public updates are those steps") {
    CHECK(same_as_plain<2>([](auto, auto& a) { sotto::detail::kernels::descend(rate, a[0], a[1]); },
                           [](auto& a, std::size_t i) { plain_descend(a, i); }));
    CHECK(same_as_plain<3>(
        [](auto, auto& a) {
            sotto::detail::kernels::descend_with_decay(rate, decay, momentum, true, a[0], a[1],
                                                       a[2]);
        },
        [](auto& a, std::size_t i) { plain_with_decay<true>(a, i); }));
    CHECK(same_as_plain<3>(
        [](auto, auto& a) {
            sotto::detail::kernels::descend_with_decay(rate, decay, momentum, false, a[0], a[1],
                                                       a[2]);
        },
        [](auto& a, std::size_t i) { plain_with_decay<false>(a, i); }));
    CHECK(same_as_plain<3>(
        [](auto, auto& a) {
            sotto::detail::kernels::descend_with_momentum(rate, decay, momentum, true, a[0], a[1],
                                                          a[2]);
        },
        [](auto& a, std::size_t i) { plain_with_momentum<true>(a, i); }));
    CHECK(same_as_plain<3>(
        [](auto, auto& a) {
            sotto::detail::kernels::descend_with_momentum(rate, decay, momentum, false, a[0], a[1],
                                                          a[2]);
        },
        [](auto& a, std::size_t i) { plain_with_momentum<false>(a, i); }));
    CHECK(same_as_plain<4>(
        [](auto, auto& a) { sotto::detail::kernels::descend_adamw(step, a[0], a[1], a[2], a[3]); },
        [](auto& a, std::size_t i) { plain_adamw(a, i); }));
}

TEST_CASE("descending at some indices is descending everywhere, there alone") {
    const auto g = sotto::testing::normal_values(50, 1);
    const auto before = sotto::testing::normal_values(50, 2);
    auto everywhere = before, there = before;
    const std::vector<std::uint32_t> indices{0, 7, 8, 49};
    sotto::detail::kernels::descend(rate, everywhere, g);
    sotto::detail::kernels::descend_at(rate, there, g, indices);
    for (std::uint32_t i = 0; i < 50; ++i) {
        const bool chosen = std::find(indices.begin(), indices.end(), i) != indices.end();
        CHECK(there[i] == (chosen ? everywhere[i] : before[i]));
    }
}

TEST_CASE("descending at an index beyond the weights is refused, and changes nothing") {
    const std::vector<float> g(50, 1.0f);
    for (const std::size_t at : {0u, 1u, 15u, 16u, 39u})
        for (const std::uint32_t index : {50u, 0x80000000u, 0xFFFFFFFFu}) {
            std::vector<float> w(50, 1.0f);
            std::vector<std::uint32_t> indices(40, 3);
            indices[at] = index;
            const auto text = "descend_at: index " + std::to_string(index) + " at place " +
                              std::to_string(at) + "; expected less than 50, the size of w";
            CHECK_THROWS_WITH_AS(sotto::detail::kernels::descend_at(rate, w, g, indices),
                                 text.c_str(), sotto::invalid_option);
            CHECK(w == std::vector<float>(50, 1.0f));
        }
    std::vector<float> none;
    CHECK_NOTHROW(sotto::detail::kernels::descend_at(rate, none, none, {}));
    CHECK_THROWS_AS(
        sotto::detail::kernels::descend_at(rate, none, none, std::vector<std::uint32_t>{0}),
        sotto::invalid_option);
}

TEST_CASE("a momentum that was constant for long comes to rate g / (1 - m) a step") {
    std::vector<float> w(40), u(40), g(40, 0.5f);
    for (int i = 0; i < 400; ++i)
        sotto::detail::kernels::descend_with_momentum(0.1f, 0, 0.5f, false, w, g, u);
    for (const float velocity : u) CHECK(velocity == doctest::Approx(1.0f));
    for (const float weight : w) CHECK(weight == doctest::Approx(-39.9f));
}

TEST_CASE("updates refuse spans of different sizes, and change nothing") {
    std::vector<float> w(5, 1.0f), g(5, 1.0f), u(5, 1.0f), v(5, 1.0f), few(4), many(6);
    for (auto* wrong : {&few, &many}) {
        CHECK_THROWS_AS(sotto::detail::kernels::descend(rate, w, *wrong), sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_at(rate, w, *wrong, {}),
                        sotto::invalid_option);
        CHECK_THROWS_AS(
            sotto::detail::kernels::descend_with_decay(rate, decay, momentum, true, w, *wrong, u),
            sotto::invalid_option);
        CHECK_THROWS_AS(
            sotto::detail::kernels::descend_with_decay(rate, decay, momentum, true, w, g, *wrong),
            sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_with_momentum(rate, decay, momentum, true,
                                                                      w, g, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_adamw(step, w, g, *wrong, v),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::descend_adamw(step, w, g, u, *wrong),
                        sotto::invalid_option);
    }
    CHECK(w == std::vector<float>(5, 1.0f));
    CHECK_THROWS_WITH(sotto::detail::kernels::descend(rate, w, few),
                      "descend: the size of g is 4; expected 5, the size of w");
}
