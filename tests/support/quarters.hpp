#pragma once

#include <utility>

#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::testing {

/// A ring with links of weight 1/4, so that sums of integers are exact.
struct quarters {
    auto bind(int size) const {
        topologies::mixing_matrix w(size);
        for (int rank = 0; rank < size; ++rank) w.link_both(rank, (rank + 1) % size, 0.25);
        return topologies::repeated(std::move(w));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::testing
