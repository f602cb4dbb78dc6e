#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// A graph, drawn at random once, in which every rank has the same number of links. It mixes well
/// with few links.
///   math    weights 1 / (1 + degree). Link ends are paired at random, again until no link joins a
///           rank to itself, no pair repeats and the graph is connected
///   cost    `degree` links a rank
///   errors  invalid_option: a degree below 1 or not below the number of ranks; an odd degree for
///           an odd number of ranks; degree 1 for more than two ranks, which would not be connected
///   source  Bollobas 1980, the configuration model
struct random_regular {
    int degree = 4;          // links of each rank
    std::uint64_t seed = 1;  // of the draws, the same on all ranks

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

    /// Returns the edges, or nothing if the draw failed.
    std::vector<std::pair<int, int>> drawn(int size, random_stream random) const;

    static bool connected(int size, const std::vector<std::pair<int, int>>& edges);
};

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/random_regular.ipp"
#endif
