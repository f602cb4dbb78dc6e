#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "sotto/kernels/detail/top_k/magnitude.hpp"

namespace sotto::testing {

/// The k largest magnitudes by sorting all, of equals the lower index; ascending.
inline std::vector<std::uint32_t> plain_top_k(std::span<const float> values, std::size_t k) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return sotto::detail::kernels::magnitude_of(values[a]) >
               sotto::detail::kernels::magnitude_of(values[b]);
    });
    order.resize(k);
    std::sort(order.begin(), order.end());
    return order;
}

}  // namespace sotto::testing
