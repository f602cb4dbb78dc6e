#pragma once

#include <cstdint>
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
    void require_possible(int size) const;

    /// Nothing where chance did not give such a graph.
    std::vector<std::pair<int, int>> drawn(int size, random_stream random) const;

    static bool connected(int size, const std::vector<std::pair<int, int>>& edges);
};

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/random_regular.ipp"
#endif
