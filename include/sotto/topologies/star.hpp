#pragma once

#include <utility>

#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Rank 0 mixes with all others, and each of them only with rank 0.
///   math    weights 1/n, by degree; second singular value 1 - 1/n: a star mixes slowly, because
///           rank 0 gives each value a small weight
///   cost    n - 1 links at rank 0, 1 at others
struct star {
    auto bind(int size) const {
        mixing_matrix matrix(size);
        for (int rank = 1; rank < size; ++rank) matrix.link_both(0, rank, 1.0 / size);
        return topologies::repeated(std::move(matrix));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::topologies
