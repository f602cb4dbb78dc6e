#pragma once

#include <cstddef>
#include <vector>

#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::testing {

/// A round of mixing in double, of a number for each rank.
inline std::vector<double> mixed(const topologies::mixing_matrix& w, const std::vector<double>& x) {
    std::vector<double> y = x;
    for (int to = 0; to < w.size(); ++to)
        for (const sotto::detail::topologies::neighbour& n : w.into(to)) {
            const auto i = static_cast<std::size_t>(to), j = static_cast<std::size_t>(n.rank);
            y[i] += n.weight * (x[j] - x[i]);
        }
    return y;
}

inline double mean_of(const std::vector<double>& x) {
    double sum = 0.0;
    for (const double value : x) sum += value;
    return sum / static_cast<double>(x.size());
}

inline double squared_distance_to_mean(const std::vector<double>& x) {
    const double mean = mean_of(x);
    double sum = 0.0;
    for (const double value : x) sum += (value - mean) * (value - mean);
    return sum;
}

}  // namespace sotto::testing
