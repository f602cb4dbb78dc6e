#include "sotto/kernels/detail/simd/arithmetic.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "sotto/core/errors.hpp"
#include "support/lanes.hpp"

using namespace sotto;
using testing::same_as_plain;

namespace {

SOTTO_UNFUSED void plain_subtract_scaled(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    a[0][i] -= 0.3f * a[1][i];
}

}  // namespace

TEST_CASE("arithmetic gives the bits of the plain loop on every set, at every length") {
    using namespace sotto::detail::kernels;
    CHECK(same_as_plain<1>(
        [](auto set, auto& a) {
            detail::kernels::run_unfused<each_lane>(set, scale_lanes{0.3f, a[0].data()},
                                                    a[0].size());
        },
        [](auto& a, std::size_t i) { a[0][i] *= 0.3f; }));
    CHECK(same_as_plain<2>(
        [](auto set, auto& a) {
            detail::kernels::run_unfused<each_lane>(set, add_exchanges{a[0].data(), a[1].data()},
                                                    a[0].size());
        },
        [](auto& a, std::size_t i) { a[0][i] += a[1][i]; }));
    CHECK(same_as_plain<2>(
        [](auto set, auto& a) {
            detail::kernels::run_unfused<each_lane>(
                set, subtract_scaled_lanes{0.3f, a[0].data(), a[1].data()}, a[0].size());
        },
        [](auto& a, std::size_t i) { plain_subtract_scaled(a, i); }));
}

TEST_CASE("the public arithmetic is that, and refuses spans of different sizes") {
    CHECK(same_as_plain<1>([](auto, auto& a) { detail::kernels::scale(a[0], 0.3f); },
                           [](auto& a, std::size_t i) { a[0][i] *= 0.3f; }));
    CHECK(same_as_plain<2>([](auto, auto& a) { detail::kernels::add(a[0], a[1]); },
                           [](auto& a, std::size_t i) { a[0][i] += a[1][i]; }));
    CHECK(
        same_as_plain<2>([](auto, auto& a) { detail::kernels::subtract_scaled(a[0], 0.3f, a[1]); },
                         [](auto& a, std::size_t i) { plain_subtract_scaled(a, i); }));
    std::vector<float> x(5), few(4), many(6);
    CHECK_THROWS_WITH(detail::kernels::add(x, few),
                      "add: the size of x is 4; expected 5, the size of sum");
    for (auto* wrong : {&few, &many}) {
        CHECK_THROWS_AS(detail::kernels::add(x, *wrong), invalid_option);
        CHECK_THROWS_AS(detail::kernels::subtract_scaled(x, 0.3f, *wrong), invalid_option);
    }
}
