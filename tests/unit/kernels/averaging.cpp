#include "sotto/kernels/averaging.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
using kernels::weighted_values;
using sotto::testing::same_as_plain;

namespace {

constexpr float weight_of(std::size_t j) {
    return 0.3f / static_cast<float>(j + 1);
}

template <std::size_t Arrays>
SOTTO_UNFUSED void plain_average(auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    float sum = weight_of(0) * a[0][i];
    for (std::size_t j = 1; j < Arrays; ++j) sum = sum + weight_of(j) * a[j][i];
    a[0][i] = sum;
}

template <std::size_t Neighbours>
bool averages_as_plain() {
    return same_as_plain<Neighbours + 1>(
        [](auto set, auto& a) {
            std::vector<weighted_values> others;
            for (std::size_t j = 1; j < a.size(); ++j) others.push_back({weight_of(j), a[j]});
            kernels::run_unfused<kernels::detail::average_with>(
                set, weight_of(0), a[0].data(), a[0].size(),
                static_cast<const weighted_values*>(others.data()), others.size());
        },
        [](auto& a, std::size_t i) { plain_average<Neighbours + 1>(a, i); });
}

}  // namespace

TEST_CASE(
    "an average gives the bits of the plain loop on every set, for any number of neighbours") {
    CHECK(averages_as_plain<0>());
    CHECK(averages_as_plain<1>());
    CHECK(averages_as_plain<2>());
    CHECK(averages_as_plain<3>());
    CHECK(averages_as_plain<8>());
    CHECK(averages_as_plain<11>());
}

TEST_CASE("the mean of integers is exact, and equal parameters stay what they are") {
    for (const std::size_t n : {0u, 1u, 100u, 1037u}) {
        const auto size = static_cast<std::int64_t>(n);
        std::vector<std::vector<float>> workers;
        for (std::uint64_t j = 0; j < 4; ++j)
            workers.push_back(sotto::testing::integer_values(size, j));
        auto mean = workers[0];
        kernels::average(0.25f, mean,
                         std::vector<weighted_values>{
                             {0.25f, workers[1]}, {0.25f, workers[2]}, {0.25f, workers[3]}});
        for (std::size_t i = 0; i < n; ++i)
            CHECK(4.0f * mean[i] == workers[0][i] + workers[1][i] + workers[2][i] + workers[3][i]);

        const auto same = mean;
        kernels::average(0.5f, mean, std::vector<weighted_values>{{0.25f, same}, {0.25f, same}});
        CHECK(mean == same);
    }
}

TEST_CASE("gossip on a ring keeps the sum and shrinks the distance between workers") {
    constexpr std::size_t workers = 4, n = 200;
    std::vector<std::vector<float>> x;
    for (std::uint64_t j = 0; j < workers; ++j)
        x.push_back(sotto::testing::integer_values(n, 10 + j));
    const auto sums = [&] {
        std::vector<float> sum(n);
        for (const auto& values : x)
            for (std::size_t i = 0; i < n; ++i) sum[i] += values[i];
        return sum;
    };
    const auto sum = sums();
    double apart = kernels::squared_distance(x[0], x[1]);
    for (int round = 0; round < 5; ++round) {  // halves of integers: all exact
        const auto before = x;
        for (std::size_t j = 0; j < workers; ++j)
            kernels::average(
                0.5f, x[j],
                std::vector<weighted_values>{{0.25f, before[(j + 1) % workers]},
                                             {0.25f, before[(j + workers - 1) % workers]}});
    }
    CHECK(sums() == sum);
    CHECK(kernels::squared_distance(x[0], x[1]) < 0.01 * apart);
}

TEST_CASE("an average refuses neighbours of another size, and changes nothing") {
    std::vector<float> own(5, 1.0f);
    const std::vector<float> other(5, 2.0f), few(4), many(6);
    for (const auto* wrong : {&few, &many}) {
        const std::vector<weighted_values> others{{0.5f, other}, {0.5f, *wrong}};
        CHECK_THROWS_AS(kernels::average(0.5f, own, others), sotto::invalid_option);
    }
    CHECK_THROWS_WITH(
        kernels::average(0.5f, own, std::vector<weighted_values>{{0.5f, other}, {0.5f, few}}),
        "average: the size of others[1].values is 4; expected 5, the size of own");
    CHECK(own == std::vector<float>(5, 1.0f));
}
