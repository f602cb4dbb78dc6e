#include "sotto/kernels/arithmetic.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/generators.hpp"

using namespace sotto;

TEST_CASE("the first value that is not finite is found wherever it is") {
    constexpr float huge = std::numeric_limits<float>::max();
    const float bad[]{std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()};
    for (const std::int64_t n : {1, 7, 1023, 1024, 1025, 5000}) {
        std::vector<float> x(static_cast<std::size_t>(n), huge);
        x[0] = -huge;
        x[x.size() / 2] = std::numeric_limits<float>::denorm_min();
        CHECK(kernels::first_non_finite(x) == -1);
        for (const float value : bad)
            for (const std::int64_t at : {n - 1, n / 2, std::int64_t{0}}) {
                auto y = x;
                y[static_cast<std::size_t>(at)] = value;
                y.back() = value;
                CHECK(kernels::first_non_finite(y) == at);
            }
    }
    CHECK(kernels::first_non_finite({}) == -1);
}

TEST_CASE("a sum of squares equals the plain one") {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 1000}) {
        const auto x = testing::integer_values(n, 3);
        double expected = 0.0;
        for (const float value : x) expected += double{value} * value;
        CHECK(kernels::sum_of_squares(x) == expected);
    }
}
