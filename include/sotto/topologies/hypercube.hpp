#pragma once

#include <utility>
#include <vector>

#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Ranks whose numbers differ in one bit mix.
///   math    weights 1 / (1 + log2 n);  second singular value 1 - 2 / (1 + log2 n). If n is not a
///           power of two, some links are missing and weights are by degree
///   cost    at most log2 n links a rank
struct hypercube {
    auto bind(int size) const {
        std::vector<std::pair<int, int>> edges;
        for (int rank = 0; rank < size; ++rank)
            for (int bit = 1; bit < size; bit *= 2)
                if ((rank & bit) == 0 && rank + bit < size) edges.emplace_back(rank, rank + bit);
        return topologies::repeated(by_degree(size, edges));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::topologies
