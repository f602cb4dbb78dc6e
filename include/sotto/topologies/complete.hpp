#pragma once

#include <utility>

#include "sotto/topologies/topology.hpp"

/// Who mixes with whom, and what the matrices of such graphs are like.
namespace sotto::topologies {

/// Each rank mixes with all others, so that one round gives everybody the mean.
///   math    weights 1/n;  second singular value 0
///   cost    n - 1 links a rank; whoever mixes may take an all-reduce for it, which sends fewer
///           bytes
struct complete {
    auto bind(int size) const {
        mixing_matrix matrix(size);
        for (int a = 0; a < size; ++a)
            for (int b = 0; b < a; ++b) matrix.link_both(a, b, 1.0 / size);
        return topologies::repeated(std::move(matrix));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::topologies
