#pragma once

#include <utility>

#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Each rank mixes with the rank before it and the rank after it.
///   math    weights 1/3;  second singular value 1/3 + 2/3 cos(2 pi / n), which approaches 1 as n
///           grows: 0.8047 for 8 ranks, 0.9968 for 64. With 2 ranks the two links are one of weight
///           1/2
///   cost    2 links a rank
struct ring {
    auto bind(int size) const {
        mixing_matrix matrix(size);
        if (size == 2) return topologies::repeated(matrix.link_both(0, 1, 0.5));
        for (int rank = 0; rank < size; ++rank)
            matrix.link_both(rank, (rank + 1) % size, 1.0 / 3.0);
        return topologies::repeated(std::move(matrix));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::topologies
