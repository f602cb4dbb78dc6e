#include "sotto/transports/speeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/transports/run_simulated.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t draws = 200'000;

std::vector<double> drawn_from(const speeds::slowness& speed, int rank = 0) {
    random_stream stream = random_stream(7).split("speeds").split(static_cast<std::uint64_t>(rank));
    std::vector<double> factors(draws);
    for (double& factor : factors) factor = speed(rank, stream);
    return factors;
}

double mean_of(const std::vector<double>& factors) {
    double sum = 0.0;
    for (const double factor : factors) sum += factor;
    return sum / static_cast<double>(factors.size());
}

/// Of those above x.
double share_above(const std::vector<double>& factors, double x) {
    const auto above =
        std::count_if(factors.begin(), factors.end(), [&](double factor) { return factor > x; });
    return static_cast<double>(above) / static_cast<double>(factors.size());
}

/// Five standard deviations of the share that was drawn.
doctest::Approx nearly(double probability) {
    const double deviation =
        std::sqrt(probability * (1.0 - probability) / static_cast<double>(draws));
    return doctest::Approx(probability).scale(1.0).epsilon(5.0 * deviation);
}

/// The first draws, in millionths: equal from every compiler and library of mathematics.
std::vector<std::int64_t> millionths(const speeds::slowness& speed, int rank = 0) {
    std::vector<std::int64_t> rounded;
    for (const double factor : drawn_from(speed, rank)) {
        rounded.push_back(std::llround(factor * 1e6));
        if (rounded.size() == 4) break;
    }
    return rounded;
}

}  // namespace

TEST_CASE("constant is always 1, and draws nothing") {
    random_stream stream(3);
    CHECK(speeds::constant{}(0, stream) == 1.0);
    CHECK(stream.position() == 0);
}

TEST_CASE("uniform has the mean, the ends and the shares that it should") {
    const auto factors = drawn_from(speeds::uniform{.low = 0.5, .high = 2.5});
    CHECK(mean_of(factors) ==
          doctest::Approx(1.5).scale(1.0).epsilon(5.0 * 2.0 / std::sqrt(12.0 * double{draws})));
    CHECK(*std::min_element(factors.begin(), factors.end()) >= 0.5);
    CHECK(*std::max_element(factors.begin(), factors.end()) < 2.5);
    for (const double x : {0.6, 1.0, 1.5, 2.0, 2.4})
        CHECK(share_above(factors, x) == nearly((2.5 - x) / 2.0));
}

TEST_CASE("exponential has mean 1 and an exponential tail behind its fixed part") {
    for (const double fixed : {0.0, 0.5, 0.9, 1.0}) {
        const auto factors = drawn_from(speeds::exponential{.fixed = fixed});
        CHECK(mean_of(factors) == doctest::Approx(1.0).scale(1.0).epsilon(
                                      5.0 * (1.0 - fixed) / std::sqrt(double{draws}) + 1e-12));
        CHECK(*std::min_element(factors.begin(), factors.end()) >= fixed);
        if (fixed == 1.0) continue;
        for (const double over : {0.1, 1.0, 3.0, 6.0})
            CHECK(share_above(factors, fixed + (1.0 - fixed) * over) == nearly(std::exp(-over)));
    }
}

TEST_CASE("heavy_tailed has the tail of Pareto, up to the most") {
    for (const double shape : {0.8, 1.5, 2.5}) {
        const double most = 50.0;
        const auto factors = drawn_from(speeds::heavy_tailed{.shape = shape, .most = most});
        CHECK(*std::min_element(factors.begin(), factors.end()) >= 1.0);
        CHECK(*std::max_element(factors.begin(), factors.end()) <= most);
        for (const double x : {1.1, 2.0, 5.0, 20.0})
            CHECK(share_above(factors, x) == nearly(std::pow(x, -shape)));
        // min(factor, most) has mean 1 + the integral of x^-shape from 1 to most, and a second
        // moment of 1 + that of 2 x^(1 - shape).
        const double mean = 1.0 + (1.0 - std::pow(most, 1.0 - shape)) / (shape - 1.0);
        const double square = 1.0 + 2.0 * (1.0 - std::pow(most, 2.0 - shape)) / (shape - 2.0);
        CHECK(mean_of(factors) ==
              doctest::Approx(mean).scale(1.0).epsilon(
                  5.0 * std::sqrt((square - mean * mean) / static_cast<double>(draws)) / mean));
    }
}

TEST_CASE("one_slow slows one rank by its factor, and leaves the draws as they are") {
    const speeds::slowness others = speeds::exponential{};
    const speeds::slowness speed = speeds::one_slow{.rank = 2, .factor = 8.0, .others = others};
    for (const int rank : {0, 1, 2, 3}) {
        auto expected = drawn_from(others, rank);
        for (double& factor : expected) factor *= rank == 2 ? 8.0 : 1.0;
        CHECK(drawn_from(speed, rank) == expected);
    }
}

TEST_CASE("of_each_rank gives a rank one draw, which it keeps, and ranks draws of their own") {
    const speeds::slowness speed = speeds::of_each_rank{speeds::uniform{.low = 1.0, .high = 3.0}};
    std::vector<double> of_ranks;
    for (int rank = 0; rank < 2000; ++rank) {
        random_stream stream = random_stream(7).split(static_cast<std::uint64_t>(rank));
        const double first = speed(rank, stream);
        for (int i = 0; i < 3; ++i) CHECK(speed(rank, stream) == first);
        of_ranks.push_back(first);
    }
    CHECK(mean_of(of_ranks) == doctest::Approx(2.0).scale(1.0).epsilon(5.0 * 0.58 / 44.7));
    for (const double x : {1.25, 2.0, 2.75})
        CHECK(std::abs(share_above(of_ranks, x) - (3.0 - x) / 2.0) < 5.0 * 0.5 / 44.7);
}

TEST_CASE("ranks of a simulated network keep the speeds of of_each_rank, also from run to run") {
    simulated_options options{.seed = 5};
    options.slowness = speeds::of_each_rank{speeds::uniform{.low = 1.0, .high = 3.0}};
    std::vector<duration> first(4);
    for (int run = 0; run < 2; ++run)
        run_simulated(4, options, [&](simulated& t) {
            duration& mine = first[static_cast<std::size_t>(t.rank())];
            for (int i = 0; i < 3; ++i) {
                const time_point start = t.now();
                t.charge({.flops = 50e9});
                if (mine == duration{}) mine = t.now() - start;
                CHECK(t.now() - start == mine);
            }
            CHECK(mine >= 1s);
            CHECK(mine < 3s);
        });
    std::sort(first.begin(), first.end());
    CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
}

TEST_CASE("the first draws are these, from every compiler") {
    using numbers = std::vector<std::int64_t>;
    CHECK(millionths(speeds::constant{}) == numbers{1000000, 1000000, 1000000, 1000000});
    CHECK(millionths(speeds::uniform{}) == numbers{1117446, 621557, 620181, 873490});
    CHECK(millionths(speeds::exponential{}) == numbers{980442, 564802, 564020, 733795});
    CHECK(millionths(speeds::heavy_tailed{}) == numbers{1468665, 1053209, 1052550, 1205671});
    CHECK(millionths(speeds::one_slow{.rank = 0, .others = speeds::uniform{}}) ==
          numbers{5587229, 3107786, 3100907, 4367449});
    CHECK(millionths(speeds::of_each_rank{}) == numbers{1140110, 1140110, 1140110, 1140110});
}
