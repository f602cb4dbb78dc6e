#include "sotto/kernels/rank_magnitude.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using kernels::detail::magnitude_of;

namespace {

void check(const std::vector<float>& values, std::size_t rank) {
    std::vector<std::uint32_t> sorted;
    for (const float value : values) sorted.push_back(magnitude_of(value));
    std::sort(sorted.begin(), sorted.end(), std::greater<>{});
    const auto above =
        std::lower_bound(sorted.begin(), sorted.end(), sorted[rank - 1], std::greater<>{}) -
        sorted.begin();
    kernels::magnitude_ranker ranker;
    ranker.reserve(values.size());
    const auto found = ranker.rank(values, rank);
    CHECK(found.magnitude == sorted[rank - 1]);
    CHECK(found.above == static_cast<std::size_t>(above));
    const auto by_digits = kernels::detail::rank_by_digits(values.data(), values.size(), rank);
    CHECK(by_digits.magnitude == sorted[rank - 1]);
    CHECK(by_digits.above == static_cast<std::size_t>(above));
}

void check_all(const std::vector<float>& values) {
    const std::size_t n = values.size();
    for (const std::size_t rank : {std::size_t{1}, n / 1000 + 1, n / 10 + 1, n / 2 + 1, n})
        check(values, rank);
}

}  // namespace

TEST_CASE("the rank-th largest of lists of all kinds") {
    random_stream random(1);
    for (const std::size_t n : {1u, 2u, 95u, 96u, 97u, 255u, 300u, 5000u, 70000u}) {
        std::vector<float> normal(n), few(n), rising(n), any(n);
        for (std::size_t i = 0; i < n; ++i) {
            normal[i] = static_cast<float>(random.normal());
            few[i] = static_cast<float>(random.below(3)) - 1.0f;
            rising[i] = static_cast<float>(i);
            any[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        }
        check_all(normal);
        check_all(few);
        check_all(rising);
        check_all(any);
        check_all(std::vector<float>(n, -0.0f));
        check_all(std::vector<float>(n, std::bit_cast<float>(0x7FFFFFFFu)));
    }
}

TEST_CASE("a list that is built against one sample after the other is ranked all the same") {
    // Each look finds one magnitude only, above the middle one: in the end digits are counted.
    constexpr std::size_t n = 20000;
    std::vector<float> values(n);
    std::vector<std::size_t> unseen(n);
    for (std::size_t i = 0; i < n; ++i) {
        values[i] = 1.0f + static_cast<float>(i % 777);
        unseen[i] = i;
    }
    for (int look = 0; look < 6; ++look) {
        const std::size_t left = unseen.size();
        for (std::uint64_t i = 1; i <= 256; ++i) {
            const auto at = static_cast<std::size_t>((i * 0x9E3779B97F4A7C15u >> 32) % left);
            values[unseen[at]] = 1e6f - 1000.0f * static_cast<float>(look);
        }
        std::erase_if(unseen, [&](std::size_t i) { return values[i] > 1000.0f; });
    }
    check_all(values);
}

TEST_CASE("a list that is built against the sample is ranked all the same") {
    // Large at the 256 places that are looked at, and nowhere else: every range is wrong at first.
    for (const std::size_t n : {1000u, 50000u}) {
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = 1.0f + static_cast<float>(i % 777);
        for (std::uint64_t i = 1; i <= 256; ++i)
            values[static_cast<std::size_t>((i * 0x9E3779B97F4A7C15u >> 32) % n)] = 1e6f;
        check_all(values);
        for (float& value : values) value = value == 1e6f ? 0.0f : value;
        check_all(values);
    }
}
