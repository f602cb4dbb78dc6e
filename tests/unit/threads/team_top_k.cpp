#include "sotto/kernels/detail/top_k/sample.hpp"
#include "sotto/kernels/detail/top_k/threshold_sampler.hpp"
#include "sotto/kernels/team_top_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;

namespace {

std::vector<float> make(std::size_t n, std::uint64_t kind, random_stream& random) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) switch (kind) {
            case 0: values[i] = static_cast<float>(random.normal()); break;
            case 1: values[i] = static_cast<float>(random.below(3)) - 1.0f; break;
            case 2:
                values[i] = random.below(10) > 0 ? 0.0f : static_cast<float>(random.normal());
                break;
            case 3: values[i] = 1.0f; break;
            case 4: values[i] = static_cast<float>(i); break;
            default: values[i] = static_cast<float>(n - i); break;
        }
    return values;
}

}  // namespace

TEST_CASE("several threads find what one finds") {
    random_stream random(1);
    kernels::top_k_scratch one;
    kernels::team_top_k_scratch several;
    for (const int threads : {1, 2, 3, 5}) {
        kernels::thread_team team(threads);
        for (int trial = 0; trial < 24; ++trial) {
            const auto n = static_cast<std::size_t>(60000 + random.below(60000));
            const auto values = make(n, random.below(6), random);
            auto k = static_cast<std::int64_t>(random.below(n + 1));
            if (trial % 3 > 0) k /= 100;
            const auto expected = kernels::select_top_k(values, k, one);
            const auto found = kernels::select_top_k(values, k, several, team);
            REQUIRE(std::ranges::equal(found.indices, expected.indices));
            REQUIRE(std::ranges::equal(found.values, expected.values));
        }
    }
}

TEST_CASE("a team's scratch serves teams and calls of all sizes") {
    random_stream random(2);
    kernels::top_k_scratch one;
    kernels::team_top_k_scratch several;
    kernels::thread_team two(2), seven(7);
    constexpr std::size_t n = 400000;
    auto values = make(n, 0, random);
    // Where seven and two sample: zeros, so that nearly all of the others are candidates.
    std::vector<float> misleading(n, 1.0f);
    for (const std::size_t threads : {std::size_t{2}, std::size_t{7}})
        for (std::size_t m = 0; m < threads; ++m) {
            const std::size_t from = n * m / threads, size = n * (m + 1) / threads - from;
            const std::size_t lines = sotto::detail::kernels::threshold_sampler::sample_size(n) /
                                      threads / sotto::detail::kernels::sample_line;
            for (std::size_t line = 0; line < lines; ++line)
                std::fill_n(misleading.begin() +
                                static_cast<std::ptrdiff_t>(
                                    from + sotto::detail::kernels::sample_place(size, lines, line)),
                            sotto::detail::kernels::sample_line, 0.0f);
        }
    auto large_there = misleading;
    for (float& value : large_there) value = value == 0.0f ? 5.0f : 0.001f;
    const auto check_in = [&](kernels::team_top_k_scratch& scratch, const std::vector<float>& of,
                              std::int64_t k, kernels::thread_team& team) {
        const auto expected = kernels::select_top_k(of, k, one);
        const auto found = kernels::select_top_k(of, k, scratch, team);
        REQUIRE(std::ranges::equal(found.indices, expected.indices));
        REQUIRE(std::ranges::equal(found.values, expected.values));
    };
    const auto check = [&](const std::vector<float>& of, std::int64_t k,
                           kernels::thread_team& team) {
        check_in(several, of, k, team);
        kernels::team_top_k_scratch fresh;  // which has not sampled anything yet
        check_in(fresh, of, k, team);
    };
    check(values, n / 2, seven);
    check(misleading, 10, two);
    check(misleading, 100000, seven);
    check(large_there, 30000, two);
    check(large_there, 30000, seven);
    values.resize(65535);
    check(values, 100, two);
    values.resize(65536);
    check(values, 100, seven);
    CHECK_THROWS_WITH_AS(several.reserve(100, 1, 0),
                         "team_top_k_scratch::reserve: threads is 0; expected at least 1",
                         const invalid_option&);
}

TEST_CASE("a NaN in any thread's part is refused") {
    kernels::thread_team team(2);
    kernels::team_top_k_scratch scratch;
    for (const std::size_t place : {std::size_t{5}, std::size_t{99990}}) {
        std::vector<float> values(100000, 1.0f);
        values[place] = std::numeric_limits<float>::quiet_NaN();
        CHECK_THROWS_AS(kernels::select_top_k(values, 10, scratch, team), const error&);
        const auto found =
            kernels::select_top_k(values, 1, scratch, team, kernels::nan_policy::largest);
        CHECK(found.indices[0] == place);
    }
}
