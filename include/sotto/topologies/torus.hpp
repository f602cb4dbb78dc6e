#pragma once

#include <cstdint>
#include <string>

#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Ranks in rows and columns that close to rings: each mixes with the four around it.
///   math    weights 1/5; second singular value 0.6 of 4 x 4, 0.8828 of 8 x 8. Two links to one
///           rank, where a side is 2, are one of weight 2/5; a side of 1 has none: a torus of one
///           row has weights 1/3, as a ring
///   shape   rows x columns = ranks; 0 of both: the rectangle that is nearest to a square
///   cost    4 links a rank
///   errors  invalid_option: sides that do not give the number of ranks
struct torus {
    int rows = 0;     // 0 with columns: found out
    int columns = 0;  // 0 with rows: found out

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

    rectangle sides(int size) const {
        if (rows == 0 && columns == 0) {
            int height = 1;
            for (int side = 1; std::int64_t{side} * side <= size; ++side)
                if (size % side == 0) height = side;
            return {height, size / height};
        }
        const auto other = [size](int side) {
            return side > 0 && size % side == 0 ? size / side : 0;
        };
        const rectangle asked{rows == 0 ? other(columns) : rows,
                              columns == 0 ? other(rows) : columns};
        if (asked.height < 1 || asked.width < 1 || std::int64_t{asked.height} * asked.width != size)
            throw invalid_option(
                "topologies::torus: " + std::to_string(rows) + " rows and " +
                std::to_string(columns) + " columns for " + std::to_string(size) +
                " ranks; their product must be the number of ranks, or one of them "
                "0, which is found, or both");
        return asked;
    }
};

}  // namespace sotto::topologies
