#include "sotto/kernels/detail/update/averaging.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/generators.hpp"
#include "support/lanes.hpp"

namespace kernels = sotto::kernels;
namespace testing = sotto::testing;
using sotto::detail::kernels::weighted_values;
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
            std::vector<sotto::detail::kernels::weighted_values> others;
            for (std::size_t j = 1; j < a.size(); ++j) others.push_back({weight_of(j), a[j]});
            sotto::detail::kernels::run_unfused<sotto::detail::kernels::average_with>(
                set, weight_of(0), a[0].data(), a[0].size(),
                static_cast<const sotto::detail::kernels::weighted_values*>(others.data()),
                others.size());
        },
        [](auto& a, std::size_t i) { plain_average<Neighbours + 1>(a, i); });
}

/// What the values at place i move by.
template <std::size_t Arrays>
SOTTO_UNFUSED float plain_change(const auto& a, std::size_t i) {
    SOTTO_UNFUSED_BODY
    float change = 0.0f;
    for (std::size_t j = 1; j < Arrays; ++j) change = change + weight_of(j) * (a[j][i] - a[0][i]);
    return change;
}

/// In the order that reductions have on every set: place i in partial sum i % 8.
template <std::size_t Arrays>
SOTTO_UNFUSED double plain_squares(const auto& a) {
    SOTTO_UNFUSED_BODY
    double sums[8] = {};
    for (std::size_t i = 0; i < a[0].size(); ++i) {
        const double change = plain_change<Arrays>(a, i);
        sums[i % 8] += change * change;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

bool same_double(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) ||
           std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

template <std::size_t Neighbours>
bool mixes_as_plain() {
    bool same_squares = true;
    const bool same = same_as_plain<Neighbours + 1>(
        [&](auto set, auto& a) {
            const double expected = plain_squares<Neighbours + 1>(a);
            std::vector<sotto::detail::kernels::weighted_values> others;
            for (std::size_t j = 1; j < a.size(); ++j) others.push_back({weight_of(j), a[j]});
            const double found =
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::sum_squares>(
                    set,
                    sotto::detail::kernels::mixed_values{a[0].data(), others.data(), others.size()},
                    a[0].size());
            same_squares &= same_double(found, expected);
        },
        [](auto& a, std::size_t i) { a[0][i] = a[0][i] + plain_change<Neighbours + 1>(a, i); });
    return same && same_squares;
}

constexpr float over_before = 0.75f, over_after = 1.5f;

/// The sum at place i, and what it moves by over the weights.
template <std::size_t Arrays>
SOTTO_UNFUSED float plain_shared(const auto& a, std::size_t i, float& change) {
    SOTTO_UNFUSED_BODY
    float sum = weight_of(0) * a[0][i];
    for (std::size_t j = 1; j < Arrays; ++j) sum = sum + weight_of(j) * a[j][i];
    change = over_after * sum - over_before * a[0][i];
    return sum;
}

template <std::size_t Arrays>
SOTTO_UNFUSED double plain_shared_squares(const auto& a) {
    SOTTO_UNFUSED_BODY
    double sums[8] = {};
    for (std::size_t i = 0; i < a[0].size(); ++i) {
        float change = 0.0f;
        plain_shared<Arrays>(a, i, change);
        sums[i % 8] += double{change} * change;
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <std::size_t Neighbours>
bool shares_as_plain() {
    bool same_squares = true;
    const bool same = same_as_plain<Neighbours + 1>(
        [&](auto set, auto& a) {
            const double expected = plain_shared_squares<Neighbours + 1>(a);
            std::vector<sotto::detail::kernels::weighted_values> others;
            for (std::size_t j = 1; j < a.size(); ++j) others.push_back({weight_of(j), a[j]});
            const double found =
                sotto::detail::kernels::run_unfused<sotto::detail::kernels::sum_squares>(
                    set,
                    sotto::detail::kernels::shared_values{weight_of(0), a[0].data(), others.data(),
                                                          others.size(), over_before, over_after},
                    a[0].size());
            same_squares &= same_double(found, expected);
        },
        [](auto& a, std::size_t i) {
            float change = 0.0f;
            a[0][i] = plain_shared<Neighbours + 1>(a, i, change);
        });
    return same && same_squares;
}

std::vector<float> mixed(std::vector<float> own,
                         const std::vector<sotto::detail::kernels::weighted_values>& others) {
    sotto::detail::kernels::mix(own, others);
    return own;
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
        sotto::detail::kernels::average(
            0.25f, mean,
            std::vector<sotto::detail::kernels::weighted_values>{
                {0.25f, workers[1]}, {0.25f, workers[2]}, {0.25f, workers[3]}});
        for (std::size_t i = 0; i < n; ++i)
            CHECK(4.0f * mean[i] == workers[0][i] + workers[1][i] + workers[2][i] + workers[3][i]);

        const auto same = mean;
        sotto::detail::kernels::average(
            0.5f, mean,
            std::vector<sotto::detail::kernels::weighted_values>{{0.25f, same}, {0.25f, same}});
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
    double apart = sotto::detail::kernels::squared_distance(x[0], x[1]);
    for (int round = 0; round < 5; ++round) {  // halves of integers: all exact
        const auto before = x;
        for (std::size_t j = 0; j < workers; ++j)
            sotto::detail::kernels::average(0.5f, x[j],
                                            std::vector<sotto::detail::kernels::weighted_values>{
                                                {0.25f, before[(j + 1) % workers]},
                                                {0.25f, before[(j + workers - 1) % workers]}});
    }
    CHECK(sums() == sum);
    CHECK(sotto::detail::kernels::squared_distance(x[0], x[1]) < 0.01 * apart);
}

TEST_CASE("an average refuses neighbours of another size, and changes nothing") {
    std::vector<float> own(5, 1.0f);
    const std::vector<float> other(5, 2.0f), few(4), many(6);
    for (const auto* wrong : {&few, &many}) {
        const std::vector<sotto::detail::kernels::weighted_values> others{{0.5f, other},
                                                                          {0.5f, *wrong}};
        CHECK_THROWS_AS(sotto::detail::kernels::average(0.5f, own, others), sotto::invalid_option);
    }
    CHECK_THROWS_WITH(
        sotto::detail::kernels::average(
            0.5f, own,
            std::vector<sotto::detail::kernels::weighted_values>{{0.5f, other}, {0.5f, few}}),
        "average: the size of others[1].values is 4; expected 5, the size of own");
    CHECK(own == std::vector<float>(5, 1.0f));
}

TEST_CASE("mixing gives the bits of the plain loop on every set, and the squares of what it adds") {
    CHECK(mixes_as_plain<0>());
    CHECK(mixes_as_plain<1>());
    CHECK(mixes_as_plain<2>());
    CHECK(mixes_as_plain<3>());
    CHECK(mixes_as_plain<8>());
    CHECK(mixes_as_plain<11>());
}

TEST_CASE("sharing gives the bits of an average, and the squares of what it moves over weights") {
    CHECK(shares_as_plain<0>());
    CHECK(shares_as_plain<1>());
    CHECK(shares_as_plain<2>());
    CHECK(shares_as_plain<8>());

    const auto first = testing::normal_values(1037, 1), second = testing::normal_values(1037, 2);
    const std::vector<sotto::detail::kernels::weighted_values> others{{0.25f, first},
                                                                      {0.5f, second}};
    const auto start = testing::normal_values(1037, 3);
    auto averaged = start, shared = start;
    sotto::detail::kernels::average(0.5f, averaged, others);
    const double found = sotto::detail::kernels::share_out(0.5f, shared, others, 2.0f, 0.5f);
    CHECK(shared == averaged);
    double squares = 0.0;
    for (std::size_t i = 0; i < start.size(); ++i)
        squares += std::pow(2.0 * averaged[i] - 0.5 * start[i], 2);
    CHECK(found == doctest::Approx(squares).epsilon(1e-6));

    shared[77] = std::nanf("");
    CHECK_FALSE(sotto::detail::is_finite(
        sotto::detail::kernels::share_out(0.5f, shared, others, 1.0f, 1.0f)));
    const std::vector<float> few(4);
    CHECK_THROWS_WITH(
        sotto::detail::kernels::share_out(
            0.5f, shared, std::vector<sotto::detail::kernels::weighted_values>{{0.5f, few}}, 1.0f,
            1.0f),
        "share_out: the size of others[0].values is 4; expected 1037, the size of own");
}

TEST_CASE("neighbours may lie at any address, and one may be given twice") {
    testing::at_every_length([](std::size_t n, std::size_t shift) {
        const auto size = static_cast<std::int64_t>(n + 8);
        const auto left = testing::normal_values(size, 1), right = testing::normal_values(size, 2);
        const auto own = testing::normal_values(static_cast<std::int64_t>(n), 3);
        const auto from = std::span(left).subspan(shift, n), to = std::span(right).subspan(5, n);
        const std::vector<float> a(from.begin(), from.end()), b(to.begin(), to.end());
        const auto found = mixed(own, {{0.25f, from}, {0.125f, to}, {0.25f, from}});
        CHECK(found == mixed(own, {{0.25f, a}, {0.125f, b}, {0.25f, a}}));
    });
}

TEST_CASE("workers whose weights are powers of two keep their mean exactly") {
    constexpr std::size_t workers = 8;
    for (const std::int64_t n : {1, 100, 1037}) {
        std::vector<std::vector<float>> x;
        for (std::uint64_t j = 0; j < workers; ++j) x.push_back(testing::integer_values(n, j));
        const auto sums = [&] {
            std::vector<float> sum(x[0].size());
            for (const auto& values : x)
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
            return sum;
        };
        const auto sum = sums();
        double moved = 0.0;
        for (std::size_t round = 0; round < 6; ++round) {  // eighths of eighths: 18 bits
            const auto before = x;
            const std::size_t far = std::size_t{1} << round % 3;
            moved = 0.0;
            for (std::size_t j = 0; j < workers; ++j)
                moved += sotto::detail::kernels::mix(
                    x[j], std::vector<sotto::detail::kernels::weighted_values>{
                              {0.125f, before[(j + far) % workers]},
                              {0.125f, before[(j + workers - far) % workers]}});
            CHECK(sums() == sum);
        }
        CHECK(moved > 0.0);
    }
}

TEST_CASE("of two workers one gains, bit for bit, what the other loses") {
    const auto a = testing::normal_values(1037, 1), b = testing::normal_values(1037, 2);
    const std::vector<float> zero(a.size());
    // What is added to 0 is the change itself.
    for (const float weight : {0.5f, 0.3f, 1.0f / 3.0f}) {
        std::vector<float> to_a(a.size()), to_b(a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            to_a[i] = b[i] - a[i];
            to_b[i] = a[i] - b[i];
        }
        const auto gained = mixed(zero, {{weight, to_a}}), lost = mixed(zero, {{weight, to_b}});
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(gained[i] == -lost[i]);
        auto mine = a, yours = b;
        CHECK(sotto::detail::kernels::mix(
                  mine, std::vector<sotto::detail::kernels::weighted_values>{{weight, b}}) ==
              sotto::detail::kernels::mix(
                  yours, std::vector<sotto::detail::kernels::weighted_values>{{weight, a}}));
        for (std::size_t i = 0; i < a.size(); ++i) {
            CHECK(mine[i] == a[i] + gained[i]);
            CHECK(yours[i] == b[i] - gained[i]);
        }
    }
}

TEST_CASE("the change of a mixing is finite if and only if every value's is") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const std::size_t at : {0u, 17u, 36u})
        for (const float odd : {infinity, -infinity, std::nanf("")}) {
            std::vector<float> own(37, 1.0f), other(37, 2.0f);
            CHECK(sotto::detail::kernels::mix(
                      own, std::vector<sotto::detail::kernels::weighted_values>{{0.5f, other}}) ==
                  37 * 0.25);
            CHECK(own == std::vector<float>(37, 1.5f));
            other[at] = odd;
            CHECK_FALSE(sotto::detail::is_finite(sotto::detail::kernels::mix(
                own, std::vector<sotto::detail::kernels::weighted_values>{{0.5f, other}})));
        }
    // Squares of the largest floats leave the range of floats, not that of doubles.
    std::vector<float> own(20, -1e38f);
    const std::vector<float> other(20, 2e38f);
    CHECK(sotto::detail::kernels::mix(own, std::vector<sotto::detail::kernels::weighted_values>{
                                               {1.0f, other}}) == doctest::Approx(20 * 9e76));
}

TEST_CASE("nobody to mix with changes nothing, and neighbours of another size are refused") {
    std::vector<float> own(5, 1.0f);
    CHECK(sotto::detail::kernels::mix(own, {}) == 0.0);
    const std::vector<float> other(5, 2.0f), few(4), many(6);
    for (const auto* wrong : {&few, &many})
        CHECK_THROWS_AS(
            sotto::detail::kernels::mix(
                own, std::vector<sotto::detail::kernels::weighted_values>{{0.5f, other},
                                                                          {0.5f, *wrong}}),
            sotto::invalid_option);
    CHECK_THROWS_WITH(
        sotto::detail::kernels::mix(
            own, std::vector<sotto::detail::kernels::weighted_values>{{0.5f, other}, {0.5f, few}}),
        "mix: the size of others[1].values is 4; expected 5, the size of own");
    CHECK(own == std::vector<float>(5, 1.0f));
}
