#include "sotto/core/detail/memory/index_set.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "sotto/core/random.hpp"

using sotto::detail::index_set;

namespace {

std::vector<std::size_t> all_of(const index_set& set) {
    std::vector<std::size_t> found;
    for (std::size_t i = set.next(0); i < set.end(); i = set.next(i + 1)) found.push_back(i);
    return found;
}

}  // namespace

TEST_CASE("index_set: random changes -> the same indices as std::set, in order") {
    for (const std::size_t end : {1u, 63u, 64u, 65u, 4096u, 4097u, 20000u}) {
        index_set set(end);
        std::set<std::size_t> expected;
        sotto::random_stream random(end);
        for (int change = 0; change < 3000; ++change) {
            const std::size_t index = random.below(end);
            if (random.below(3) == 0) {
                set.erase(index);
                expected.erase(index);
            } else {
                set.insert(index);
                expected.insert(index);
            }
            REQUIRE(set.size() == expected.size());
            const std::size_t from = random.below(end + 1);
            const auto next = expected.lower_bound(from);
            REQUIRE(set.next(from) == (next == expected.end() ? end : *next));
        }
        CHECK(all_of(set) == std::vector<std::size_t>(expected.begin(), expected.end()));
        set.clear();
        CHECK(set.empty());
        CHECK(set.next(0) == end);
        set.insert(end - 1);
        CHECK(all_of(set) == std::vector<std::size_t>{end - 1});
    }
}

TEST_CASE("index_set: no indices -> empty, and its end is 0") {
    const index_set none(0);
    CHECK(none.empty());
    CHECK(none.next(0) == 0);
}
