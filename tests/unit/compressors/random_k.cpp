#include "sotto/compressors/random_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"

using namespace sotto;

namespace {

using indices = std::vector<std::uint32_t>;

layout matrices(std::int64_t n) {
    layout tensors;
    tensors.add("first", {n, 1}).add("second", {n, 1});
    return tensors;
}

indices drawn(const random_k& options, const layout& tensors, std::int64_t tensor_index,
              std::int64_t k, const round_info& where, float value = 0.0f) {
    auto selector = options.bind_selector(tensors);
    selector.begin_round(where);
    const tensor& t = tensors[tensor_index];
    const std::vector<float> values(static_cast<std::size_t>(t.size), value);
    const auto chosen = selector.select(t, values, k);
    return {chosen.begin(), chosen.end()};
}

}  // namespace

TEST_CASE("exactly k ascending indices, one from each of k equal stretches") {
    for (const std::int64_t n : {1, 7, 64, 1000, 1001})
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 3, n - 1, n}) {
            const layout tensors = matrices(n);
            const auto chosen = drawn({}, tensors, 0, k, {.step = 5});
            REQUIRE(static_cast<std::int64_t>(chosen.size()) == k);
            for (std::size_t j = 0; j < chosen.size(); ++j) {
                const auto place = static_cast<std::int64_t>(j);
                CHECK(chosen[j] >= place * n / k);
                CHECK(chosen[j] < (place + 1) * n / k);
            }
        }
}

TEST_CASE("the choice follows from seed, step and tensor, and from nothing else") {
    const layout tensors = matrices(1000);
    const auto base = drawn({.seed = 1}, tensors, 0, 20, {.step = 3, .rank = 0});
    CHECK(drawn({.seed = 1}, tensors, 0, 20, {.step = 3, .epoch = 9, .rank = 2, .world_size = 4},
                7.0f) == base);
    CHECK_FALSE(drawn({.seed = 2}, tensors, 0, 20, {.step = 3}) == base);
    CHECK_FALSE(drawn({.seed = 1}, tensors, 0, 20, {.step = 4}) == base);
    CHECK_FALSE(drawn({.seed = 1}, tensors, 1, 20, {.step = 3}) == base);
}

TEST_CASE("every entry is as likely as any other") {
    constexpr std::int64_t n = 40, k = 4, rounds = 4000;
    const layout tensors = matrices(n);
    auto selector = random_k{}.bind_selector(tensors);
    const std::vector<float> values(n);
    std::vector<int> count(n);
    for (std::int64_t step = 0; step < rounds; ++step) {
        selector.begin_round({.step = step});
        for (const std::uint32_t i : selector.select(tensors[0], values, k)) ++count[i];
    }
    // 400 each, standard deviation 19.
    for (const int c : count) CHECK(std::abs(c - 400) < 6 * 19);
}

TEST_CASE("by itself it sends the chosen entries as they are and forgets the rest") {
    const layout tensors = matrices(100);
    auto state = random_k{.density = 0.1}.bind(tensors);
    const std::vector<float> gradient(100, 3.0f), nothing(100);
    state.begin_round({.step = 0});
    for (const auto& g : {gradient, nothing}) {
        bytes message;
        state.encode(tensors[0], g, message);
        std::vector<float> sum(100);
        state.decode_add(tensors[0], message, sum);
        CHECK(std::ranges::count(sum, 3.0f) == (g[0] == 0.0f ? 0 : 10));
        state.commit();
    }
}

TEST_CASE("a density outside (0, 1] is refused") {
    for (const double density : {0.0, -0.1, 1.1, std::nan("")})
        CHECK_THROWS_AS(random_k{.density = density}.bind(matrices(10)), invalid_option);
}
