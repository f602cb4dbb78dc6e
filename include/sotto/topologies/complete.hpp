#pragma once

#include <utility>

#include "sotto/topologies/topology.hpp"

/// Topologies: which ranks mix with each other, and the properties of their mixing matrices.
namespace sotto::topologies {

/// Each rank mixes with all others, so one round gives every rank the mean.
///   math    weights 1/n;  second singular value 0
///   cost    n - 1 links a rank. A mixing may use an all-reduce instead, which sends fewer bytes
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
