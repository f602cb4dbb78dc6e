#pragma once

#include "sotto/kernels/detail/top_k/value_bins.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

SOTTO_DECL value_bins bin_values(std::span<const float> values, std::span<std::uint8_t> codes) {
    require_size_of({"values", values.size()}, {{"codes", codes.size()}}, "bin_values");
    if (values.empty()) return {};
    const auto n = static_cast<double>(values.size());
    double sum = 0.0, squares = 0.0;
    for (const float x : values) {
        const double wide = x;
        sum += wide;
        squares += wide * wide;  // exact, so fusing cannot change it
    }
    const double mean = sum / n;
    const double width = 3.0 * std::sqrt((std::max)(0.0, squares - sum * sum / n) / n);

    std::array<double, 4> sums{};
    std::array<float, 4> least{}, most{};
    std::array<std::size_t, 4> counts{};
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double twice = 2.0 * (values[i] - mean);
        const auto bin =
            static_cast<std::uint8_t>((twice >= -width) + (twice >= 0.0) + (twice >= width));
        least[bin] = counts[bin] == 0 ? values[i] : (std::min)(least[bin], values[i]);
        most[bin] = counts[bin] == 0 ? values[i] : (std::max)(most[bin], values[i]);
        sums[bin] += values[i];
        ++counts[bin];
        codes[i] = bin;
    }

    value_bins found;
    std::array<std::uint8_t, 4> numbers{};
    for (std::size_t bin = 0; bin < 4; ++bin) {
        if (counts[bin] == 0) continue;
        // Clamps so that rounding cannot move a mean out of its bin, which keeps means ascending.
        const auto of_bin = static_cast<float>(sums[bin] / static_cast<double>(counts[bin]));
        numbers[bin] = static_cast<std::uint8_t>(found.count);
        found.means[found.count++] = std::clamp(of_bin, least[bin], most[bin]);
    }
    if (found.count < 4)
        for (std::uint8_t& code : codes) code = numbers[code];
    return found;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
