#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace sotto::detail {

/// Sorts a vector and keeps the order of equal values, like std::stable_sort. That function of
/// libstdc++ 12 causes warnings in clang 17 and newer, in every file that includes it.
template <class Value, class Less>
void sort_stably(std::vector<Value>& values, Less less) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (less(values[a], values[b])) return true;
        return a < b && !less(values[b], values[a]);
    });
    std::vector<Value> sorted;
    sorted.reserve(values.size());
    for (const std::size_t from : order) sorted.push_back(std::move(values[from]));
    values = std::move(sorted);
}

}  // namespace sotto::detail
