#pragma once

#include "sotto/topologies/torus.hpp"

#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto::topologies {

SOTTO_DECL torus::rectangle torus::sides(int size) const {
    if (rows == 0 && columns == 0) {
        int height = 1;
        for (int side = 1; std::int64_t{side} * side <= size; ++side)
            if (size % side == 0) height = side;
        return {height, size / height};
    }
    const auto other = [size](int side) { return side > 0 && size % side == 0 ? size / side : 0; };
    const rectangle asked{rows == 0 ? other(columns) : rows, columns == 0 ? other(rows) : columns};
    if (asked.height < 1 || asked.width < 1 || std::int64_t{asked.height} * asked.width != size)
        throw invalid_option("topologies::torus: " + std::to_string(rows) + " rows and " +
                             std::to_string(columns) + " columns for " + std::to_string(size) +
                             " ranks; their product must be the number of ranks, or one of them "
                             "0, which is found, or both");
    return asked;
}

}  // namespace sotto::topologies
