#pragma once

#include <utility>
#include <vector>

#include "sotto/core/require_option.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// A tree: each rank mixes with its parent and its children.
///   math    weights by degree
///   shape   the parent of rank r is rank (r - 1) / branches
///   cost    at most branches + 1 links a rank
///   errors  invalid_option: branches below 1
struct tree {
    int branches = 2;  // children of each rank

    auto bind(int size) const {
        require_option("topologies::tree", "branches", branches, detail::allowed::at_least(1));
        std::vector<std::pair<int, int>> edges;
        for (int rank = 1; rank < size; ++rank) edges.emplace_back((rank - 1) / branches, rank);
        return topologies::repeated(by_degree(size, edges));
    }
    void describe(auto&& field) const { field("branches", branches); }
};

}  // namespace sotto::topologies
