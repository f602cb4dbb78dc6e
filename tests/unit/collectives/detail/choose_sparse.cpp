#include "sotto/collectives/detail/choose_sparse.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace sotto::collectives;
using namespace sotto::detail::collectives;

namespace {
constexpr std::int64_t large = 25'000'000;
}

TEST_CASE("few ranks gather, many leave sums to owners, unless a step takes longer") {
    for (const int world : {1, 2, 4, 8}) {
        CHECK(choose_sparse(large, large / 1000, world, true) == sparse_way::gather);
        CHECK(choose_sparse(large, large / 4, world, true) == sparse_way::gather);
    }
    for (const int world : {9, 16, 64, 1000}) {
        CHECK(choose_sparse(large, large / 1000, world, true) == sparse_way::reduce_scatter);
        CHECK(choose_sparse(large, large / 1000, world, false) == sparse_way::gather);
        CHECK(choose_sparse(300, 3, world, true) == sparse_way::gather);
    }
    // 1000 entries of 10^6 are some 5.4 KB: gather sends 7/9 of 8 x that more.
    CHECK(choose_sparse(1'000'000, 900, 9, true) == sparse_way::gather);
    CHECK(choose_sparse(1'000'000, 1100, 9, true) == sparse_way::reduce_scatter);
}

TEST_CASE("a dense sum is shorter than gathering from about 2 n/N entries on") {
    for (const int world : {4, 8, 16}) {
        const std::int64_t limit = 2 * large / world;
        CHECK_FALSE(is_dense_shorter(sparse_way::gather, large, limit * 8 / 10, 0, world));
        CHECK(is_dense_shorter(sparse_way::gather, large, limit, 0, world));
    }
    // The first epoch of a warm-up, 25 %: eight ranks fill the result, four do not.
    CHECK(is_dense_shorter(sparse_way::gather, large, large / 4, 0, 8));
    CHECK_FALSE(is_dense_shorter(sparse_way::gather, large, large / 4, 0, 4));
    // Two ranks send each other no more than a dense sum would.
    CHECK_FALSE(is_dense_shorter(sparse_way::gather, large, large * 9 / 10, 0, 2));
    // What it saves is less than a step.
    CHECK_FALSE(is_dense_shorter(sparse_way::gather, 1000, 1000, 0, 4));
    for (const auto than : {sparse_way::gather, sparse_way::reduce_scatter})
        CHECK_FALSE(is_dense_shorter(than, large, large, large, 1));
}

TEST_CASE("sums of owners are shorter than dense ones until nearly all is sent") {
    const auto dense = [](std::int64_t entries, std::int64_t kept) {
        return is_dense_shorter(sparse_way::reduce_scatter, large, entries, kept, 16);
    };
    CHECK_FALSE(dense(large / 4, large / 4));
    CHECK_FALSE(dense(large * 9 / 10, large * 9 / 10));
    CHECK(dense(large, large));
    CHECK_FALSE(dense(large, large / 2));
}

TEST_CASE("the more entries are sent, the sooner a dense sum is shorter") {
    for (const auto than : {sparse_way::gather, sparse_way::reduce_scatter})
        for (const std::int64_t n : {1, 1000, 1'000'000})
            for (const int world : {2, 3, 8, 9, 100}) {
                bool before = false;
                for (std::int64_t k = 0; k <= n; k += n / 20 + 1) {
                    const bool now = is_dense_shorter(than, n, k, k, world);
                    CHECK((now || !before));
                    before = now;
                }
            }
}
