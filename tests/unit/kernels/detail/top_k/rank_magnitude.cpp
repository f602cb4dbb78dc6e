#include "sotto/kernels/detail/top_k/rank_magnitude.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using sotto::detail::kernels::magnitude_of;

namespace {

void check_all(const std::vector<float>& values) {
    std::vector<std::uint32_t> sorted;
    for (const float value : values) sorted.push_back(magnitude_of(value));
    std::sort(sorted.begin(), sorted.end(), std::greater<>{});
    detail::kernels::magnitude_ranker ranker;
    ranker.reserve(values.size());
    const std::size_t n = values.size();
    for (const std::size_t rank : {std::size_t{1}, n / 1000 + 1, n / 10 + 1, n / 2 + 1, n}) {
        const std::uint32_t expected = sorted[rank - 1];
        const auto above = static_cast<std::size_t>(
            std::lower_bound(sorted.begin(), sorted.end(), expected, std::greater<>{}) -
            sorted.begin());
        const auto found = ranker.rank(values, rank);
        CHECK(found.magnitude == expected);
        CHECK(found.above == above);
        const auto by_digits = sotto::detail::kernels::rank_by_digits(values.data(), n, rank);
        CHECK(by_digits.magnitude == expected);
        CHECK(by_digits.above == above);
    }
}

/// The places that a ranker looks at in a list of n, more than once where they are drawn so.
std::vector<std::size_t> sampled_places(std::size_t n) {
    const std::uint64_t drawn = std::clamp(n / 256, std::size_t{128}, std::size_t{1024});
    std::vector<std::size_t> places;
    for (std::uint64_t i = 1; i <= drawn; ++i)
        places.push_back(static_cast<std::size_t>((i * 0x9E3779B97F4A7C15u >> 32) % n));
    return places;
}

}  // namespace

TEST_CASE("the rank-th largest of lists of all kinds") {
    random_stream random(1);
    // Up to 256 are sorted; from 1024 * 256 on the sample is as large as it gets.
    for (const std::size_t n : {1u, 2u, 95u, 96u, 97u, 255u, 256u, 257u, 300u, 5000u, 70000u,
                                262143u, 262144u, 300000u}) {
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
    for (const std::size_t n : {20000u, 300000u}) {
        std::vector<float> values(n);
        std::vector<std::size_t> unseen(n);
        for (std::size_t i = 0; i < n; ++i) {
            values[i] = 1.0f + static_cast<float>(i % 777);
            unseen[i] = i;
        }
        for (int look = 0; look < 6; ++look) {
            for (const std::size_t place : sampled_places(unseen.size()))
                values[unseen[place]] = 1e6f - 1000.0f * static_cast<float>(look);
            std::erase_if(unseen, [&](std::size_t i) { return values[i] > 1000.0f; });
        }
        check_all(values);
    }
}

TEST_CASE("a list that is built against the sample is ranked all the same") {
    // Large at the places that are looked at, and nowhere else: every range is wrong at first.
    for (const std::size_t n : {257u, 1000u, 50000u, 262144u}) {
        std::vector<float> values(n);
        for (std::size_t i = 0; i < n; ++i) values[i] = 1.0f + static_cast<float>(i % 777);
        for (const std::size_t place : sampled_places(n)) values[place] = 1e6f;
        check_all(values);
        for (float& value : values) value = value == 1e6f ? 0.0f : value;
        check_all(values);
    }
}
