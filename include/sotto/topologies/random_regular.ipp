#pragma once

#include "sotto/topologies/random_regular.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto::topologies {

SOTTO_DECL void random_regular::require_possible(int size) const {
    const bool fits =
        size == 1 || (degree >= 1 && degree < size && (std::int64_t{degree} * size) % 2 == 0 &&
                      (degree > 1 || size == 2));
    if (!fits)
        throw invalid_option("topologies::random_regular: degree " + std::to_string(degree) +
                             " for " + std::to_string(size) +
                             " ranks; it must be below their number, even where that is odd, "
                             "and at least 2 for more than two");
}

SOTTO_DECL std::vector<std::pair<int, int>> random_regular::drawn(int size,
                                                                  random_stream random) const {
    // Pairs are drawn one at a time from the remaining ends, so that an invalid pair is redrawn
    // alone. Redrawing the whole graph would take e^(degree^2 / 4) attempts.
    std::vector<int> ends;
    for (int rank = 0; rank < size; ++rank)
        ends.insert(ends.end(), static_cast<std::size_t>(degree), rank);
    std::set<std::pair<int, int>> edges;
    int misses = 0;
    while (!ends.empty() && misses < 100) {
        const auto first = static_cast<std::size_t>(random.below(ends.size()));
        const auto second = static_cast<std::size_t>(random.below(ends.size()));
        const auto pair = std::minmax(ends[first], ends[second]);
        if (pair.first == pair.second || edges.contains(pair)) {
            ++misses;
            continue;
        }
        misses = 0;
        edges.insert(pair);
        for (const std::size_t end : {(std::max)(first, second), (std::min)(first, second)}) {
            ends[end] = ends.back();
            ends.pop_back();
        }
    }
    std::vector<std::pair<int, int>> list(edges.begin(), edges.end());
    if (!ends.empty() || !connected(size, list)) list.clear();
    return list;
}

SOTTO_DECL bool random_regular::connected(int size, const std::vector<std::pair<int, int>>& edges) {
    std::vector<int> group(static_cast<std::size_t>(size));
    std::iota(group.begin(), group.end(), 0);
    for (const auto& [a, b] : edges) {
        const int from = group[static_cast<std::size_t>(a)],
                  to = group[static_cast<std::size_t>(b)];
        std::replace(group.begin(), group.end(), from, to);
    }
    return std::count(group.begin(), group.end(), group.front()) == size;
}

}  // namespace sotto::topologies
