#include "sotto/collectives/detail/reselection.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "support/allocation_count.hpp"

using namespace sotto;
using sotto::detail::collectives::reselection;
using wire::value_format;

namespace {

struct run {
    std::vector<std::uint32_t> places;
    std::vector<float> values;

    detail::kernels::sparse_values view() const { return {places, values}; }
};

run random_run(std::int64_t size, double density, std::uint64_t seed) {
    random_stream random(seed);
    run made;
    for (std::int64_t i = 0; i < size; ++i)
        if (random.uniform(0.0f, 1.0f) < static_cast<float>(density)) {
            made.places.push_back(static_cast<std::uint32_t>(i));
            made.values.push_back((static_cast<float>(random.below(257)) - 128.0f) / 64.0f);
        }
    return made;
}

}  // namespace

TEST_CASE("kept and left are the largest sums and the others, and nothing else") {
    for (const std::int64_t size : {1, 7, 64, 1000})
        for (const double density : {0.0, 0.05, 0.5, 1.0})
            for (const std::int64_t most : {std::int64_t{0}, std::int64_t{1}, size / 4, size}) {
                detail::collectives::reselection sums(size, size, size);
                for (std::uint64_t round = 0; round < 3; ++round) {
                    std::vector<float> expected(static_cast<std::size_t>(size));
                    for (std::uint64_t rank = 0; rank < 5; ++rank) {
                        const run one = random_run(size, density, 10 * round + rank);
                        sums.add(one.view());
                        for (std::size_t j = 0; j < one.places.size(); ++j)
                            expected[one.places[j]] += one.values[j];
                    }
                    sums.take_out(most, value_format::fp32);
                    const auto kept = sums.kept(), left = sums.left();
                    CHECK(std::is_sorted(kept.indices.begin(), kept.indices.end()));
                    CHECK(std::is_sorted(left.indices.begin(), left.indices.end()));
                    std::vector<float> found(expected.size());
                    float least_kept = INFINITY, most_left = 0.0f;
                    for (std::size_t j = 0; j < kept.indices.size(); ++j) {
                        found[kept.indices[j]] += kept.values[j];
                        least_kept = std::min(least_kept, std::abs(kept.values[j]));
                    }
                    for (std::size_t j = 0; j < left.indices.size(); ++j) {
                        CHECK(found[left.indices[j]] == 0.0f);  // none is both
                        found[left.indices[j]] += left.values[j];
                        most_left = std::max(most_left, std::abs(left.values[j]));
                    }
                    CHECK(found == expected);
                    CHECK(least_kept >= most_left);
                    CHECK(static_cast<std::int64_t>(kept.indices.size()) ==
                          std::min<std::int64_t>(
                              most, size - std::count(expected.begin(), expected.end(), 0.0f)));
                }
            }
}

TEST_CASE("of equal sums those at lower places are kept") {
    detail::collectives::reselection sums(10, 10, 10);
    const run one{{1, 3, 4, 8}, {2.0f, -2.0f, 5.0f, 2.0f}};
    sums.add(one.view());
    sums.take_out(2, value_format::fp32);
    CHECK(sums.kept().indices[0] == 1);
    CHECK(sums.kept().indices[1] == 4);
}

TEST_CASE("what cancels out is neither kept nor left") {
    detail::collectives::reselection sums(10, 10, 10);
    const run one{{2, 5}, {100.0f, 1.0f}}, other{{2, 6}, {-100.0f, 1.0f}};
    sums.add(one.view());
    sums.add(other.view());
    sums.take_out(1, value_format::fp32);
    REQUIRE(sums.kept().indices.size() == 1);
    CHECK(sums.kept().indices[0] == 5);
    REQUIRE(sums.left().indices.size() == 1);
    CHECK(sums.left().indices[0] == 6);
}

TEST_CASE("what rounding takes away from a sum is left") {
    for (const auto format : {value_format::fp16, value_format::bf16}) {
        detail::collectives::reselection sums(4, 4, 4);
        const run one{{0, 1, 3}, {1.0f / 3.0f, 1e6f, 0.5f}};
        sums.add(one.view());
        sums.take_out(4, format);
        const auto kept = sums.kept(), left = sums.left();
        REQUIRE(kept.indices.size() == 3);
        REQUIRE(left.indices.size() == 2);  // 0.5 is a half
        for (std::size_t j = 0; j < 2; ++j) {
            CHECK(kept.values[j] == wire::rounded(format, kept.values[j]));
            CHECK(kept.indices[j] == left.indices[j]);
            CHECK(kept.values[j] + left.values[j] == one.values[j]);
        }
        if (format == value_format::fp16) CHECK(kept.values[1] == 65504.0f);
    }
}

TEST_CASE("selecting takes no memory after it was made") {
    if (!support::allocation_count::works) return;
    constexpr std::int64_t size = 5000;
    detail::collectives::reselection sums(size, size, 100);
    std::vector<run> runs;
    for (std::uint64_t rank = 0; rank < 8; ++rank)
        runs.push_back(random_run(size, 0.05 * static_cast<double>(rank), rank));
    const support::allocation_count taken;
    for (const run& one : runs) {
        sums.add(one.view());
        sums.take_out(100, value_format::fp32);
    }
    const std::int64_t count = taken.on_this_thread();
    CHECK(count == 0);
}
