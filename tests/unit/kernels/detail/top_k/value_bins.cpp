#include "sotto/kernels/detail/top_k/value_bins.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

struct binned {
    detail::kernels::value_bins bins;
    std::vector<std::uint8_t> codes;

    explicit binned(const floats& values) : codes(values.size(), 9) {
        bins = detail::kernels::bin_values(values, codes);
    }
    float of(std::size_t i) const { return bins.means[codes[i]]; }
};

/// What top-k leaves of normal values: the large ones of either sign.
floats large_values(std::int64_t n, std::uint64_t seed) {
    floats values = testing::normal_values(n, seed);
    for (float& x : values) x += std::copysign(2.0f, x);
    return values;
}

}  // namespace

TEST_CASE("bins are parted at the mean and one and a half deviations from it, and have means") {
    // Mean 0, deviation 2: edges at -3, 0 and 3.
    const floats values{-4.0f, 1.0f, -1.0f, 4.0f, 1.0f, -1.0f, 1.0f, -1.0f, 0.0f, 0.0f};
    const binned found(values);
    CHECK(found.codes == std::vector<std::uint8_t>{0, 2, 1, 3, 2, 1, 2, 1, 2, 2});
    REQUIRE(found.bins.count == 4);
    CHECK(found.bins.means == std::array{-4.0f, -1.0f, 0.6f, 4.0f});
}

TEST_CASE("bins that stay empty have no number, and equal values one bin") {
    const binned alike(floats(5, -2.5f));
    CHECK(alike.bins.count == 1);
    CHECK(alike.bins.means[0] == -2.5f);
    CHECK(alike.codes == std::vector<std::uint8_t>(5, 0));
    const binned two({3.0f, -1.0f, 3.0f, -1.0f});
    CHECK(two.bins.count == 2);
    CHECK(two.codes == std::vector<std::uint8_t>{1, 0, 1, 0});
    CHECK(two.of(0) == 3.0f);
    CHECK(two.of(1) == -1.0f);
    CHECK(binned({}).bins.count == 0);
    CHECK(binned({7.0f}).of(0) == 7.0f);
}

TEST_CASE("what the means leave is shorter by exactly what they have") {
    for (const std::int64_t n : {1, 2, 3, 64, 1000, 100'000})
        for (const std::uint64_t seed : {1u, 2u, 3u}) {
            const floats values =
                seed == 1 ? testing::normal_values(n, seed) : large_values(n, seed);
            const binned found(values);
            double given = 0.0, left = 0.0, said = 0.0;
            for (std::size_t i = 0; i < values.size(); ++i) {
                given += double{values[i]} * values[i];
                said += double{found.of(i)} * found.of(i);
                left += std::pow(double{values[i]} - found.of(i), 2);
            }
            CHECK(left == doctest::Approx(given - said).epsilon(1e-5).scale(given));
            CHECK(left < given);
            if (seed != 1 && n >= 1000) CHECK(left < 0.05 * given);  // of two bits
        }
}

TEST_CASE("means rise strictly, also of values that are neighbours or far apart") {
    floats close(1000, 1.0f), far = testing::normal_values(1000, 4);
    for (std::size_t i = 0; i < close.size(); i += 3) close[i] = std::nextafter(1.0f, 2.0f);
    for (std::size_t i = 0; i < far.size(); ++i)
        far[i] = std::ldexp(far[i], static_cast<int>(i % 250) - 125);
    for (const floats& values : {close, far}) {
        const binned found(values);
        for (std::size_t i = 1; i < found.bins.count; ++i)
            CHECK(found.bins.means[i - 1] < found.bins.means[i]);
        for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(found.codes[i] < found.bins.count);
    }
    CHECK(binned(close).bins.count == 2);
}

TEST_CASE("there is a code for every value") {
    const floats values(4);
    std::vector<std::uint8_t> codes(3);
    CHECK_THROWS_WITH_AS(detail::kernels::bin_values(values, codes),
                         "bin_values: the size of codes is 3; expected 4, the size of values",
                         invalid_option);
}
