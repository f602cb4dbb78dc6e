#include "sotto/wire/detail/coding/sorted_counts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

TEST_CASE("symbols come by count, and equals by symbol") {
    random_stream random(1);
    for (int round = 0; round < 500; ++round) {
        std::vector<std::uint64_t> counts(2 + random.below(303));
        const auto width = 1 + static_cast<int>(random.below(48));
        for (auto& count : counts)
            count = random.below(3) == 0 ? 0 : random.bits64() >> (64 - width);
        counts[0] = counts[1] = 1;
        std::vector<std::size_t> expected(counts.size());
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        std::erase_if(expected, [&](std::size_t symbol) { return counts[symbol] == 0; });
        std::stable_sort(expected.begin(), expected.end(),
                         [&](std::size_t a, std::size_t b) { return counts[a] < counts[b]; });

        const sorted_counts sorted(counts);
        REQUIRE(sorted.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            REQUIRE(sorted.symbol(i) == expected[i]);
            REQUIRE(sorted.count(i) == counts[expected[i]]);
        }
        REQUIRE(sorted.count(sorted.size()) == ~std::uint64_t{0});
    }
}

TEST_CASE("a symbol alone comes after a companion that does not occur") {
    for (const std::uint64_t count : {std::uint64_t{1}, (std::uint64_t{1} << 48) - 1}) {
        const sorted_counts first(std::vector<std::uint64_t>{count, 0, 0});
        REQUIRE(first.size() == 2);
        CHECK(first.symbol(0) == 1);
        CHECK(first.count(0) == 0);
        CHECK(first.symbol(1) == 0);
        CHECK(first.count(1) == count);
        const sorted_counts later(std::vector<std::uint64_t>{0, 0, count});
        REQUIRE(later.size() == 2);
        CHECK(later.symbol(0) == 0);
        CHECK(later.symbol(1) == 2);
    }
}
