#include "sotto/transports/detail/simulated/rank_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "sotto/core/random.hpp"

using namespace sotto;
using sotto::detail::simulation::rank_queue;

TEST_CASE("whoever is first is so by time and then by rank, however times change") {
    constexpr int ranks = 37;
    rank_queue queue(ranks);
    std::map<int, time_point> expected;
    random_stream random(1);
    for (int i = 0; i < 20000; ++i) {
        if (random.below(3) != 0) {
            const int rank = static_cast<int>(random.below(ranks));
            const time_point when{std::chrono::nanoseconds(random.below(50))};
            queue.set(rank, when);
            expected[rank] = when;
            REQUIRE(queue.time_of(rank) == when);
        } else if (!expected.empty() && random.below(4) == 0) {
            const int rank = expected.begin()->first;
            queue.remove(rank);
            expected.erase(rank);
        } else if (!expected.empty()) {
            const auto first = std::min_element(
                expected.begin(), expected.end(), [](const auto& a, const auto& b) {
                    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
                });
            REQUIRE(!queue.empty());
            REQUIRE(queue.first() == first->first);
            REQUIRE(queue.time_of_first() == first->second);
            queue.remove_first();
            expected.erase(first);
        }
        REQUIRE(queue.empty() == expected.empty());
    }
}
