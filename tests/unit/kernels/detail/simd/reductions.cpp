#include "sotto/kernels/detail/simd/reductions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using namespace sotto::testing;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Eight interleaved partial sums, as documented.
SOTTO_UNFUSED double plain_sum(std::size_t n, auto&& value) {
    SOTTO_UNFUSED_BODY
    double p[8] = {};
    for (std::size_t i = 0; i < n; ++i) p[i % 8] += value(i) * value(i);
    return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

}  // namespace

TEST_CASE("sums of squares are added in one order on every set, at every length") {
    using namespace sotto::detail::kernels;
    bool same = true;
    on_every_set([&](sotto::detail::kernels::instruction_set set) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            const auto a = uneven_values(n + shift + 3, n), b = uneven_values(n + shift, n + 1);
            const auto *x = a.data() + shift, *y = b.data() + shift;
            const double square = plain_sum(n, [&](std::size_t i) { return double{x[i]}; });
            same &= same_bits(
                sotto::detail::kernels::run_unfused<sum_squares>(set, single_values{x}, n), square);
            const double distance =
                plain_sum(n, [&](std::size_t i) { return double{x[i]} - double{y[i]}; });
            same &= same_bits(
                sotto::detail::kernels::run_unfused<sum_squares>(set, differences{x, y}, n),
                distance);

            auto scaled = a, expected = a;
            for (std::size_t i = 0; i < n; ++i) expected[shift + i] *= 0.3f;
            const double of_scaled =
                plain_sum(n, [&](std::size_t i) { return double{expected[shift + i]}; });
            same &= same_bits(sotto::detail::kernels::run_unfused<sum_squares>(
                                  set, scaled_values{0.3f, scaled.data() + shift}, n),
                              of_scaled);
            same &= same_values(scaled, expected);
        });
    });
    CHECK(same);
}

TEST_CASE("the public sums are those") {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 1000, 4099}) {
        const auto x = normal_values(n, 1), y = normal_values(n, 2);
        const auto size = static_cast<std::size_t>(n);
        CHECK(sotto::detail::kernels::sum_of_squares(x) ==
              plain_sum(size, [&](std::size_t i) { return double{x[i]}; }));
        CHECK(sotto::detail::kernels::squared_distance(x, y) ==
              plain_sum(size, [&](std::size_t i) { return double{x[i]} - double{y[i]}; }));
        CHECK(sotto::detail::kernels::squared_distance(x, x) == 0.0);
        auto apart = x, together = x;
        sotto::detail::kernels::scale(apart, 0.7f);
        CHECK(sotto::detail::kernels::scale_and_sum_squares(together, 0.7f) ==
              sotto::detail::kernels::sum_of_squares(apart));
        CHECK(together == apart);
    }
    const std::vector<float> one(1), two(2);
    CHECK_THROWS_WITH_AS((void)sotto::detail::kernels::squared_distance(one, two),
                         "squared_distance: the size of b is 2; expected 1, the size of a",
                         sotto::invalid_option);
}

TEST_CASE("a sum of squares equals the plain one") {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 1000}) {
        const auto x = integer_values(n, 3);
        double expected = 0.0;
        for (const float value : x) expected += double{value} * value;
        CHECK(sotto::detail::kernels::sum_of_squares(x) == expected);
    }
}

TEST_CASE("a sum of squares is finite if and only if every value is") {
    std::vector<float> largest(10000, std::numeric_limits<float>::max());
    CHECK(sotto::detail::is_finite(sotto::detail::kernels::sum_of_squares(largest)));
    for (const float bad : {infinity, -infinity, not_a_number})
        for (const std::size_t at : {0u, 8u, 15u, 5000u, 9999u}) {
            auto x = largest;
            x[at] = bad;
            CHECK_FALSE(sotto::detail::is_finite(sotto::detail::kernels::sum_of_squares(x)));
            CHECK_FALSE(
                sotto::detail::is_finite(sotto::detail::kernels::scale_and_sum_squares(x, 0.0f)));
        }
    CHECK(sotto::detail::is_finite(sotto::detail::kernels::scale_and_sum_squares(largest, -1.0f)));
    CHECK_FALSE(
        sotto::detail::is_finite(sotto::detail::kernels::scale_and_sum_squares(largest, 2.0f)));
}

TEST_CASE("is_finite of doubles") {
    using limits = std::numeric_limits<double>;
    for (const double value :
         {0.0, -0.0, 1.0, limits::max(), limits::lowest(), limits::min(), limits::denorm_min()})
        CHECK(sotto::detail::is_finite(value));
    for (const double value :
         {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::signaling_NaN()})
        CHECK_FALSE(sotto::detail::is_finite(value));
}

TEST_CASE("the largest magnitude on every set, at every length and place") {
    on_every_set([&](sotto::detail::kernels::instruction_set set) {
        const auto found = [&](const std::vector<float>& x, std::size_t shift, std::size_t n) {
            // As it is, and at an address that is no float's.
            const auto from = std::as_bytes(std::span(x)).subspan(shift * sizeof(float));
            std::vector<std::byte> moved(1 + n * sizeof(float));
            std::copy_n(from.begin(), n * sizeof(float), moved.begin() + 1);
            const std::byte* const anywhere = moved.data() + 1;
            const auto bits = sotto::detail::kernels::run_unfused<sotto::detail::kernels::max_bits>(
                set, from.data(), n);
            CHECK(sotto::detail::kernels::run_unfused<sotto::detail::kernels::max_bits>(
                      set, anywhere, n) == bits);
            return std::bit_cast<float>(bits);
        };
        at_every_length([&](std::size_t n, std::size_t shift) {
            auto x = uneven_values(n + shift + 3, n);
            float expected = 0.0f;
            for (std::size_t i = 0; i < n; ++i)
                expected = std::max(expected, std::abs(x[shift + i]));
            CHECK(found(x, shift, n) == expected);
            if (n == 0) return;
            x[shift + n / 2] = -infinity;
            CHECK(found(x, shift, n) == infinity);
            x[shift + n / 3] = -not_a_number;
            CHECK(std::isnan(found(x, shift, n)));
        });
    });
    CHECK(sotto::detail::kernels::max_magnitude({}) == 0.0f);
    CHECK(sotto::detail::kernels::max_magnitude(std::vector<float>{1.0f, -3.0f, 2.0f}) == 3.0f);
    CHECK(std::signbit(sotto::detail::kernels::max_magnitude(std::vector<float>{-0.0f})) == false);
}

TEST_CASE("the first value that is not finite is found wherever it is") {
    constexpr float huge = std::numeric_limits<float>::max();
    const float bad[]{infinity, -infinity, not_a_number};
    for (const std::int64_t n : {1, 7, 16383, 16384, 16385, 50000}) {
        std::vector<float> x(static_cast<std::size_t>(n), huge);
        x[0] = -huge;
        x[x.size() / 2] = std::numeric_limits<float>::denorm_min();
        CHECK(sotto::detail::kernels::first_non_finite(x) == -1);
        for (const float value : bad)
            for (const std::int64_t at : {n - 1, n / 2, std::int64_t{0}}) {
                auto y = x;
                y[static_cast<std::size_t>(at)] = value;
                y.back() = value;
                CHECK(sotto::detail::kernels::first_non_finite(y) == at);
            }
    }
    CHECK(sotto::detail::kernels::first_non_finite({}) == -1);
}
