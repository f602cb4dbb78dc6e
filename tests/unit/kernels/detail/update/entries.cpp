#include "sotto/kernels/detail/update/entries.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "support/generators.hpp"

namespace kernels = sotto::kernels;
using sotto::testing::normal_values;

namespace {

constexpr std::size_t n = 200;
const std::vector<std::uint32_t> indices = [] {
    std::vector<std::uint32_t> some;
    for (std::uint32_t i = 0; i < n; i += 1 + i % 5) some.push_back(i);
    return some;
}();

std::vector<float> at_indices(const std::vector<float>& whole) {
    std::vector<float> values;
    for (const auto i : indices) values.push_back(whole[i]);
    return values;
}

/// A whole gradient that is 0 elsewhere.
std::vector<float> sparse_gradient(std::uint64_t seed) {
    const auto values = normal_values(n, seed);
    std::vector<float> g(n);
    for (const auto i : indices) g[i] = values[i];
    return g;
}

}  // namespace

TEST_CASE("entries move weights as the whole gradient does, bit for bit, and no others") {
    const auto g = sparse_gradient(1), w = normal_values(n, 2);
    auto by_entries = w, whole = w;
    sotto::detail::kernels::descend_values_at(0.3f, by_entries, indices, at_indices(g));
    sotto::detail::kernels::descend(0.3f, whole, g);
    CHECK(by_entries == whole);
}

TEST_CASE("copying entries leaves all others") {
    const auto from = normal_values(n, 1), before = normal_values(n, 2);
    auto to = before;
    sotto::detail::kernels::copy_at(to, from, indices);
    std::size_t k = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        const bool is_one = k < indices.size() && indices[k] == i;
        CHECK(to[i] == (is_one ? from[i] : before[i]));
        if (is_one) ++k;
    }
}

TEST_CASE("delay compensation of entries is that of the whole gradient, bounded or not") {
    const auto w = normal_values(n, 2), before = normal_values(n, 3);
    for (const float bound : {0.0f, 0.1f, 1.0f}) {
        CAPTURE(bound);
        auto whole = sparse_gradient(1);
        auto values = at_indices(whole);
        const sotto::detail::kernels::constant_compensation by{.lambda = 0.7f, .bound = bound};
        sotto::detail::kernels::compensate_delay(by, whole, w, before);
        sotto::detail::kernels::compensate_delay_at(by, values, indices, w, before);
        CHECK(values == at_indices(whole));
    }
}

TEST_CASE("a mean square that decays lazily is the one that decays every time") {
    // Powers of two, so that scaling costs no bits.
    const auto w = normal_values(n, 2), before = normal_values(n, 3);
    for (const float bound : {0.0f, 0.1f}) {
        CAPTURE(bound);
        const sotto::detail::kernels::adaptive_compensation by{
            .lambda = 2.0f, .decay = 0.5, .bound = bound};
        std::vector<float> s(n), lazy(n);
        float scale = 1.0f;
        for (std::uint64_t step = 0; step < 20; ++step) {
            auto whole = sparse_gradient(10 + step);
            auto values = at_indices(whole);
            sotto::detail::kernels::compensate_delay(by, whole, w, before, s);
            scale *= 0.5f;
            sotto::detail::kernels::compensate_delay_at(by, scale, values, indices, w, before,
                                                        lazy);
            CHECK(values == at_indices(whole));
        }
        for (const auto i : indices) CHECK(lazy[i] * scale == s[i]);
    }
}

TEST_CASE("a mean square beyond all floats is forgotten where nothing of it is to stay") {
    const sotto::detail::kernels::adaptive_compensation by{.lambda = 2.0f, .decay = 0.0};
    const std::vector<std::uint32_t> second{1};
    std::vector<float> values{2e19f}, w(2), s(2);
    sotto::detail::kernels::compensate_delay_at(by, 0.0f, values, second, w, w, s);
    CHECK(s[1] == 0.0f);
    values = {1.0f};
    w[1] = 3.0f;
    sotto::detail::kernels::compensate_delay_at(by, 0.0f, values, second, w, std::vector<float>(2),
                                                s);
    CHECK(values[0] == doctest::Approx(7.0f));  // g + 2 g^2 3 / |g|
}

TEST_CASE("the fused step of entries is compensation and then descent, bit for bit") {
    const auto start = normal_values(n, 2), before = normal_values(n, 3);
    const auto values = at_indices(sparse_gradient(1));
    for (const float bound : {0.0f, 0.1f}) {
        CAPTURE(bound);
        auto fused = start, apart = start, changed = values;
        const sotto::detail::kernels::constant_compensation constant{.lambda = 0.7f,
                                                                     .bound = bound};
        sotto::detail::kernels::descend_compensated_at(0.3f, constant, fused, indices, values,
                                                       before);
        sotto::detail::kernels::compensate_delay_at(constant, changed, indices, apart, before);
        sotto::detail::kernels::descend_values_at(0.3f, apart, indices, changed);
        CHECK(fused == apart);

        const sotto::detail::kernels::adaptive_compensation adaptive{.lambda = 2.0f,
                                                                     .bound = bound};
        std::vector<float> s(n, 0.5f), other = s;
        fused = apart = start;
        changed = values;
        sotto::detail::kernels::descend_compensated_at(0.3f, adaptive, 0.8f, fused, indices, values,
                                                       before, s);
        sotto::detail::kernels::compensate_delay_at(adaptive, 0.8f, changed, indices, apart, before,
                                                    other);
        sotto::detail::kernels::descend_values_at(0.3f, apart, indices, changed);
        CHECK(fused == apart);
        CHECK(s == other);
    }
}

TEST_CASE("a bounded correction is at most its share of the gradient, and the same below it") {
    const auto g = normal_values(n, 1), w = normal_values(n, 2), before = normal_values(n, 3);
    auto free = g, bounded = g;
    sotto::detail::kernels::compensate_delay({.lambda = 3.0f}, free, w, before);
    sotto::detail::kernels::compensate_delay({.lambda = 3.0f, .bound = 0.5f}, bounded, w, before);
    int cut = 0;
    for (std::size_t i = 0; i < n; ++i) {
        CHECK(std::abs(bounded[i] - g[i]) <= 0.5f * std::abs(g[i]) * (1.0f + 1e-6f));
        if (bounded[i] != free[i]) ++cut;
    }
    CHECK(cut > 0);
    CHECK(cut < static_cast<int>(n));
}

TEST_CASE("entries that do not fit are refused, and nothing changes") {
    const std::vector<float> before = normal_values(n, 2);
    std::vector<float> w = before, values(2, 1.0f), s(n), few(n - 1);
    const std::vector<std::uint32_t> beyond{1, n}, two{1, 2}, three{1, 2, 3};
    CHECK_THROWS_WITH_AS(
        sotto::detail::kernels::descend_values_at(1.0f, w, beyond, values),
        "descend_values_at: index 200 at place 1; expected less than 200, the size "
        "of the weights",
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_values_at(1.0f, w, three, values),
                    sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::copy_at(w, s, beyond), sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::copy_at(w, few, two), sotto::invalid_option);
    const sotto::detail::kernels::constant_compensation constant;
    CHECK_THROWS_AS(
        sotto::detail::kernels::compensate_delay_at(constant, values, beyond, w, before),
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::compensate_delay_at(constant, values, two, w, few),
                    sotto::invalid_option);
    const sotto::detail::kernels::adaptive_compensation adaptive;
    CHECK_THROWS_AS(
        sotto::detail::kernels::compensate_delay_at(adaptive, 1.0f, values, beyond, w, before, s),
        sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::compensate_delay_at(adaptive, 1.0f, values, two, w, before, few),
        sotto::invalid_option);
    CHECK_THROWS_AS(
        sotto::detail::kernels::descend_compensated_at(1.0f, constant, w, beyond, values, s),
        sotto::invalid_option);
    CHECK_THROWS_AS(sotto::detail::kernels::descend_compensated_at(1.0f, adaptive, 1.0f, w, two,
                                                                   values, s, few),
                    sotto::invalid_option);
    CHECK(w == before);
    CHECK(values == std::vector<float>(2, 1.0f));
}
