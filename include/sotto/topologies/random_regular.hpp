#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// A graph drawn once by chance in which every rank has as many links: few links that mix well.
///   math    weights 1 / (1 + degree). Drawn by pairing ends of links, again until no link joins a
///           rank to itself, no two the same pair, and all are connected
///   cost    `degree` links a rank
///   errors  invalid_option: a degree below 1, not below the number of ranks, odd for an odd number
///           of ranks, or 1 for more than two, which are not connected then
///   source  Bollobas 1980, the configuration model
struct random_regular {
    int degree = 4;          // links of every rank
    std::uint64_t seed = 1;  // of the draws, alike on all ranks

    auto bind(int size) const {
        require_possible(size);
        for (std::uint64_t attempt = 0;; ++attempt) {
            const auto edges = drawn(size, random_stream(seed).split("regular").split(attempt));
            if (edges.empty() && size > 1) continue;
            mixing_matrix matrix(size);
            for (const auto& [a, b] : edges) matrix.link_both(a, b, 1.0 / (1.0 + degree));
            return topologies::repeated(std::move(matrix));
        }
    }
    void describe(auto&& field) const {
        field("degree", degree);
        field("seed", seed);
    }

private:
    void require_possible(int size) const {
        const bool fits =
            size == 1 || (degree >= 1 && degree < size && (std::int64_t{degree} * size) % 2 == 0 &&
                          (degree > 1 || size == 2));
        if (!fits)
            throw invalid_option("topologies::random_regular: degree " + std::to_string(degree) +
                                 " for " + std::to_string(size) +
                                 " ranks; it must be below their number, even where that is odd, "
                                 "and at least 2 for more than two");
    }

    /// Nothing where chance did not give such a graph.
    std::vector<std::pair<int, int>> drawn(int size, random_stream random) const {
        // Pairs are drawn one at a time from the ends that are left, so that a pair that cannot be
        // is drawn again and not the whole graph: that would take e^(degree^2 / 4) attempts.
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

    static bool connected(int size, const std::vector<std::pair<int, int>>& edges) {
        std::vector<int> group(static_cast<std::size_t>(size));
        std::iota(group.begin(), group.end(), 0);
        for (const auto& [a, b] : edges) {
            const int from = group[static_cast<std::size_t>(a)],
                      to = group[static_cast<std::size_t>(b)];
            std::replace(group.begin(), group.end(), from, to);
        }
        return std::count(group.begin(), group.end(), group.front()) == size;
    }
};

}  // namespace sotto::topologies
