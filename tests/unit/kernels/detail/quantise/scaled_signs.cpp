#include "sotto/kernels/detail/quantise/scaled_signs.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::instruction_set;
using sotto::testing::any_values;
using sotto::testing::at_every_length;
using sotto::testing::on_every_set;
using sotto::testing::uneven_values;

namespace {

using bytes = std::vector<std::uint8_t>;
using floats = std::vector<float>;

// Sixteen interleaved sums of either sign, then by halves.
double plain_sum(std::span<const float> x) {
    double sums[2][16] = {};
    for (std::size_t i = 0; i < x.size(); ++i) sums[std::signbit(x[i])][i % 16] += double{x[i]};
    for (auto& sum : sums)
        for (std::size_t width = 8; width > 0; width /= 2)
            for (std::size_t i = 0; i < width; ++i) sum[i] += sum[i + width];
    return sums[0][0] - sums[1][0];
}

}  // namespace

TEST_CASE("signs and the sum of magnitudes are those of plain loops on every set") {
    on_every_set([](instruction_set set) {
        at_every_length([&](std::size_t n, std::size_t shift) {
            const floats all = uneven_values(n + shift, 3 * n + shift);
            const auto x = std::span(all).subspan(shift);
            bytes expected(sotto::detail::kernels::bytes_of_signs(n)),
                found(expected.size() + 4, 0xa5);
            sotto::detail::kernels::pack_signs(x, expected);
            const double sum =
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::pack_signs_and_sum>(
                    set, x.data(), n, found.data());
            CHECK(std::bit_cast<std::uint64_t>(sum) == std::bit_cast<std::uint64_t>(plain_sum(x)));
            CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
            for (std::size_t i = expected.size(); i < found.size(); ++i) CHECK(found[i] == 0xa5);
        });
    });
}

TEST_CASE("the mean is of the magnitudes, exact where it can be, and 0 of none") {
    const auto mean_of = [](const floats& x) {
        bytes signs(sotto::detail::kernels::bytes_of_signs(x.size()));
        return sotto::detail::kernels::pack_signs_and_mean(x, signs);
    };
    CHECK(mean_of({}) == 0.0f);
    CHECK(mean_of({-3.0f, 1.0f, 0.0f, -0.0f}) == 1.0f);
    CHECK(mean_of(floats(1000, -0.25f)) == 0.25f);
    constexpr float most = std::numeric_limits<float>::max();
    CHECK(mean_of({most, -most, most}) == most);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(mean_of({1.0f, -infinity, infinity}) == infinity);
    CHECK(std::isnan(mean_of({1.0f, std::numeric_limits<float>::quiet_NaN(), 2.0f})));
}

TEST_CASE("another number of bytes is refused") {
    const floats x(17);
    bytes signs(2);
    CHECK_THROWS_WITH_AS(sotto::detail::kernels::pack_signs_and_mean(x, signs),
                         "pack_signs_and_mean: the size of signs is 2; expected 3, the bytes of 17 "
                         "signs",
                         sotto::invalid_option);
}
