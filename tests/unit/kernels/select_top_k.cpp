#include "sotto/kernels/select_top_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/generators.hpp"

using namespace sotto;

namespace {
std::vector<std::uint32_t> plainly(const std::vector<float>& values, std::size_t k) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
    order.resize(k);
    std::sort(order.begin(), order.end());
    return order;
}

void check(const std::vector<float>& values, std::int64_t k) {
    kernels::top_k_scratch scratch;
    const auto found = kernels::select_top_k(values, k, scratch);
    CHECK(std::ranges::equal(found, plainly(values, static_cast<std::size_t>(k))));
}
}  // namespace

TEST_CASE("the k largest magnitudes are found exactly, of equals the lower index") {
    for (std::int64_t n = 0; n <= 40; ++n)
        for (std::int64_t k = 0; k <= n; ++k) {
            check(testing::normal_values(n, static_cast<std::uint64_t>(n)), k);
            check(testing::integer_values(n, static_cast<std::uint64_t>(n)), k);
        }
}

TEST_CASE("large and hostile inputs are exact too") {
    constexpr std::int64_t n = 100000;
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{100}, std::int64_t{5000}, n}) {
        check(testing::normal_values(n, 1), k);
        check(testing::integer_values(n, 2), k);
        check(std::vector<float>(n, 0.0f), k);
        check(std::vector<float>(n, -1.0f), k);
        std::vector<float> rising(n);
        std::iota(rising.begin(), rising.end(), 0.0f);
        check(rising, k);
        std::vector<float> unseen(n, 0.0f);  // large where the sample does not look
        for (std::size_t i = 0; i < 64; ++i) unseen[i * 1001] = 1.0f + static_cast<float>(i);
        check(unseen, k);
    }
}
