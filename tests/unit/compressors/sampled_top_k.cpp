#include "sotto/compressors/sampled_top_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/generators.hpp"

using namespace sotto;

namespace {

layout matrix(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

std::int64_t selected(const std::vector<float>& values, std::int64_t k, std::int64_t step) {
    const layout tensors = matrix(static_cast<std::int64_t>(values.size()));
    auto selector = sampled_top_k{}.bind_selector(tensors);
    selector.begin_round({.step = step});
    const auto chosen = selector.select(tensors[0], values, k);
    CHECK(std::is_sorted(chosen.begin(), chosen.end()));
    CHECK(std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end());
    for (const auto i : chosen) CHECK(i < values.size());
    return static_cast<std::int64_t>(chosen.size());
}

}  // namespace

TEST_CASE("a sampled threshold passes between 0.8 k and k entries of normal values") {
    for (const std::int64_t n : {20000, 300000})
        for (std::int64_t step = 0; step < 10; ++step) {
            const std::int64_t k = n / 1000;
            const std::int64_t count =
                selected(testing::normal_values(n, static_cast<std::uint64_t>(step)), k, step);
            CHECK(5 * count >= 4 * k);
            CHECK(count <= k);
        }
}

TEST_CASE("values without order give exactly k, or what there is") {
    CHECK(selected(std::vector<float>(10000, 3.0f), 10, 0) == 10);
    CHECK(selected(std::vector<float>(10000, 0.0f), 10, 0) == 10);
    std::vector<float> one_hot(10000, 0.0f);
    one_hot[4321] = -5.0f;
    CHECK(selected(one_hot, 10, 0) == 10);
    CHECK(selected(one_hot, 1, 0) == 1);
    CHECK(selected({1.0f, 2.0f}, 2, 0) == 2);
    CHECK(selected({1.0f, 2.0f}, 0, 0) == 0);
}

TEST_CASE("a misleading sample lowers the threshold; too many that pass are ranked exactly") {
    // Falling by 0.1 % from entry to entry: what passes is the first so many; a threshold lowered
    // once lets in 223 more, of which the 10 largest are the first 10.
    std::vector<float> falling(10000);
    for (std::size_t i = 0; i < falling.size(); ++i)
        falling[i] = std::exp(-0.001f * static_cast<float>(i)) * (i % 2 == 0 ? 1.0f : -1.0f);
    const layout tensors = matrix(static_cast<std::int64_t>(falling.size()));
    auto selector = sampled_top_k{}.bind_selector(tensors);
    int as_sampled = 0, lowered = 0;
    for (std::int64_t step = 0; step < 40; ++step) {
        selector.begin_round({.step = step});
        const auto chosen = selector.select(tensors[0], falling, 10);
        REQUIRE(chosen.size() >= 8);
        REQUIRE(chosen.size() <= 10);
        for (std::size_t i = 0; i < chosen.size(); ++i) CHECK(chosen[i] == i);
        ++(chosen.size() == 10 ? lowered : as_sampled);
    }
    CHECK(as_sampled > 0);
    CHECK(lowered > 0);
}
