#pragma once

#include <utility>

#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Ranks in a grid whose rows and columns are rings: each mixes with its four neighbours.
///   math    weights 1/5; second singular value 0.6 for 4 x 4, 0.8828 for 8 x 8. On a side of 2 the
///           two links to the same rank are one of weight 2/5. A side of 1 has no links: a torus of
///           one row has weights 1/3, as a ring
///   shape   rows x columns = ranks; both 0: the rectangle nearest to a square
///   cost    4 links a rank
///   errors  invalid_option: sides whose product is not the number of ranks
struct torus {
    int rows = 0;     // 0: derived from columns and the number of ranks
    int columns = 0;  // 0: derived from rows and the number of ranks

    auto bind(int size) const {
        const auto [height, width] = sides(size);
        mixing_matrix matrix(size);
        const double weight = 1.0 / (1 + 2 * (height > 1) + 2 * (width > 1));
        for (int row = 0; row < height; ++row)
            for (int column = 0; column < width; ++column) {
                const int rank = row * width + column;
                matrix.link_both(rank, row * width + (column + 1) % width, weight);
                matrix.link_both(rank, (row + 1) % height * width + column, weight);
            }
        return topologies::repeated(std::move(matrix));
    }
    void describe(auto&& field) const {
        field("rows", rows);
        field("columns", columns);
    }

private:
    struct rectangle {
        int height, width;
    };

    rectangle sides(int size) const;
};

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/torus.ipp"
#endif
