#include "sotto/kernels/detail/update/gap.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using sotto::detail::kernels::each_lane;
using sotto::testing::same_as_plain;

namespace {

SOTTO_UNFUSED float divided(float g, float w, float before, float length, float steps) {
    SOTTO_UNFUSED_BODY
    const float gap = w - before < 0.0f ? -(w - before) : w - before;
    return length > 0.0f ? g / (1.0f + gap * steps / length) : g;
}

}  // namespace

TEST_CASE("dividing by the gap gives the bits of the plain loop on every set, at every length") {
    using namespace sotto::detail::kernels;
    CHECK(same_as_plain<4>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set,
                sotto::detail::kernels::divide_by_gap_lanes{3.0f, a[0].data(), a[1].data(),
                                                            a[2].data(), a[3].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) {
            a[0][i] = divided(a[0][i], a[1][i], a[2][i], a[3][i], 3.0f);
        }));
    CHECK(same_as_plain<2>(
        [](auto set, auto& a) {
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::each_lane>(
                set, sotto::detail::kernels::add_magnitude_lanes{a[0].data(), a[1].data()},
                a[0].size());
        },
        [](auto& a, std::size_t i) { a[0][i] += a[1][i] < 0.0f ? -a[1][i] : a[1][i]; }));
}

TEST_CASE("the gap divides by one more than it is in mean steps, and not where nothing moved") {
    std::vector<float> g{6.0f, 6.0f, 6.0f, 6.0f};
    const std::vector<float> w{1.0f, 1.0f, -1.0f, 5.0f}, before{1.0f, 0.0f, 0.0f, 0.0f};
    const std::vector<float> lengths{4.0f, 4.0f, 4.0f, 0.0f};  // of 8 steps: 0.5 each
    sotto::detail::kernels::divide_by_gap(g, w, before, lengths, 8.0f);
    CHECK(g == std::vector<float>{6.0f, 2.0f, 2.0f, 6.0f});
}

TEST_CASE("entries are divided as in the whole gradient, bit for bit") {
    const auto w = sotto::testing::normal_values(100, 1),
               before = sotto::testing::normal_values(100, 2);
    auto lengths = sotto::testing::normal_values(100, 3),
         whole = sotto::testing::normal_values(100, 4);
    for (float& length : lengths) length = length < -1.0f ? 0.0f : std::abs(length);
    const std::vector<std::uint32_t> indices{0, 7, 8, 50, 99};
    std::vector<float> values;
    for (const auto i : indices) values.push_back(whole[i]);
    sotto::detail::kernels::divide_by_gap_at(values, indices, w, before, lengths, 5.0f);
    sotto::detail::kernels::divide_by_gap(whole, w, before, lengths, 5.0f);
    for (std::size_t k = 0; k < indices.size(); ++k) CHECK(values[k] == whole[indices[k]]);
}

TEST_CASE("gaps refuse spans of different sizes") {
    std::vector<float> a(5), few(4);
    const std::vector<std::uint32_t> indices(5);
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap(a, few, a, a, 1.0f),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap(a, a, few, a, 1.0f),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap(a, a, a, few, 1.0f),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap_at(few, indices, a, a, a, 1.0f),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap_at(a, indices, a, few, a, 1.0f),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::add_magnitudes(a, few), sotto::invalid_option);
    const std::vector<std::uint32_t> beyond{1, 2, 3, 4, 5};
    CHECK_THROWS_AS(sotto::detail::kernels::divide_by_gap_at(a, beyond, a, a, a, 1.0f),
                    sotto::invalid_option);
}
