#include "sotto/core/detail/memory/sort_stably.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"

using namespace sotto;

TEST_CASE("equals stay in the order in which they were") {
    random_stream random(5);
    for (const std::size_t size : {0u, 1u, 2u, 17u, 400u}) {
        std::vector<std::pair<int, int>> values(size);
        for (auto& [key, other] : values) {
            key = static_cast<int>(random.below(7));
            other = static_cast<int>(random.below(1000));
        }
        const auto by_key = [](const auto& a, const auto& b) { return a.first < b.first; };
        auto sorted = values;
        std::stable_sort(sorted.begin(), sorted.end(), by_key);
        detail::sort_stably(values, by_key);
        CHECK(values == sorted);
    }
}

TEST_CASE("what is sorted is moved") {
    std::vector<std::unique_ptr<int>> values;
    for (const int each : {3, 1, 2}) values.push_back(std::make_unique<int>(each));
    detail::sort_stably(values, [](const auto& a, const auto& b) { return *a < *b; });
    CHECK(*values[0] == 1);
    CHECK(*values[2] == 3);
}
