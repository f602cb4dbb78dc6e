#include "sotto/kernels/detail/update/momentum.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::each_lane;
using sotto::testing::same_as_plain;

namespace {

constexpr float momentum = 0.9f, scale = 0.7f;

// Arrays: gradient, velocity, accumulated, next velocity, next accumulated.
template <bool Nesterov>
SOTTO_UNFUSED void plain_velocity(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    const float g = scale * a[0][i];
    const float u = momentum * a[1][i] + g;
    a[3][i] = u;
    a[4][i] = a[2][i] + (Nesterov ? momentum * u + g : u);
}

// Arrays: gradient, accumulated, next accumulated.
SOTTO_UNFUSED void plain_accumulate(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    a[2][i] = a[1][i] + scale * a[0][i];
}

// Arrays: velocity, next velocity, gradient.
template <bool Nesterov>
SOTTO_UNFUSED void plain_momentum(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    const float u = momentum * a[0][i] + a[2][i];
    a[1][i] = u;
    a[2][i] = Nesterov ? a[2][i] + momentum * u : u;
}

template <bool Nesterov>
bool velocity_is_plain() {
    return same_as_plain<5>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::velocity_lanes<Nesterov>{momentum, scale, a[0].data(),
                                                                 a[1].data(), a[2].data(),
                                                                 a[3].data(), a[4].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { plain_velocity<Nesterov>(a, i); });
}

template <bool Nesterov>
bool momentum_is_plain() {
    return same_as_plain<3>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::momentum_lanes<Nesterov>{momentum, a[0].data(), a[1].data(),
                                                                 a[2].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { plain_momentum<Nesterov>(a, i); });
}

}  // namespace

TEST_CASE("momentum gives the bits of the plain loop on every set, at every length") {
    CHECK(velocity_is_plain<false>());
    CHECK(velocity_is_plain<true>());
    CHECK(momentum_is_plain<false>());
    CHECK(momentum_is_plain<true>());
    CHECK(same_as_plain<3>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::accumulate_lanes{scale, a[0].data(), a[1].data(),
                                                         a[2].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { plain_accumulate(a, i); }));
}

TEST_CASE("the public functions are those steps, and inputs may be the outputs") {
    for (const bool nesterov : {false, true}) {
        const sotto::detail::kernels::momentum_step step{momentum, nesterov, scale};
        const auto plain = [&](auto& a, std::size_t i) {
            nesterov ? plain_velocity<true>(a, i) : plain_velocity<false>(a, i);
        };
        CHECK(same_as_plain<5>(
            [&](auto, auto& a) {
                sotto::detail::kernels::accumulate_velocity(step, a[0], a[1], a[2], a[3], a[4]);
            },
            plain));
        CHECK(same_as_plain<3>(
            [&](auto, auto& a) {
                sotto::detail::kernels::accumulate_velocity(step, a[0], a[1], a[2], a[1], a[2]);
            },
            [&](auto& a, std::size_t i) {
                std::array in_place{a[0], a[1], a[2], a[1], a[2]};
                plain(in_place, i);
            }));
        CHECK(same_as_plain<2>(
            [&](auto, auto& a) {
                sotto::detail::kernels::apply_momentum(momentum, nesterov, a[0], a[0], a[1]);
            },
            [&](auto& a, std::size_t i) {
                std::array in_place{a[0], a[0], a[1]};
                nesterov ? plain_momentum<true>(in_place, i) : plain_momentum<false>(in_place, i);
            }));
    }
    CHECK(same_as_plain<2>(
        [](auto, auto& a) { sotto::detail::kernels::accumulate(a[0], scale, a[1], a[1]); },
        [](auto& a, std::size_t i) {
            std::array in_place{a[0], a[1], a[1]};
            plain_accumulate(in_place, i);
        }));
}

TEST_CASE("a constant gradient accumulates to its closed form") {
    // After T steps v is g (T / (1 - m) - m (1 - m^T) / (1 - m)^2): m = 1/2 and T = 4 give 6.125 g.
    std::vector<float> g(20, 8.0f), u(20), v(20);
    for (int t = 0; t < 4; ++t)
        sotto::detail::kernels::accumulate_velocity({.momentum = 0.5f}, g, u, v, u, v);
    CHECK(v == std::vector<float>(20, 49.0f));
}

TEST_CASE("momentum refuses spans of different sizes") {
    std::vector<float> a(5), few(4), many(6);
    for (auto* wrong : {&few, &many}) {
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate_velocity({}, a, *wrong, a, a, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate_velocity({}, a, a, *wrong, a, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate_velocity({}, a, a, a, *wrong, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate_velocity({}, a, a, a, a, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate(a, 1.0f, *wrong, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::accumulate(a, 1.0f, a, *wrong),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::apply_momentum(0.9f, true, *wrong, a, a),
                        sotto::invalid_option);
        CHECK_THROWS_AS(sotto::detail::kernels::apply_momentum(0.9f, true, a, *wrong, a),
                        sotto::invalid_option);
    }
}
