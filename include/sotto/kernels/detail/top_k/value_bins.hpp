#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"

namespace sotto::detail::kernels {

/// The means of the bins that values fell into, rising strictly.
struct value_bins {
    std::array<float, 4> means{};  // of which the first `count` are used
    std::size_t count = 0;         // 0 to 4

    /// Those that are used.
    std::span<const float> used() const noexcept { return std::span(means).first(count); }
};

inline namespace SOTTO_UNIT {

/// Sorts values into four bins about their mean, each 6/4 standard deviations wide, the outer ones
/// open to the outside. Bins that stay empty have no number. Of values that were chosen for their
/// magnitude these are the large and the very large ones of either sign.
///   math    m, s: mean and standard deviation of the n values; edges m - 1.5 s, m, m + 1.5 s;
///           codes[i] = the bin of values[i] among those that are not empty; what stands for a bin
///           is its mean, so that sum (x - q)^2 = sum x^2 - sum over bins of count q^2: never more
///           than sum x^2
///   shape   as many codes as values
///   cost    three passes, scalar: it is for values of which there are few. The same bits on every
///           processor
///   errors  invalid_option unless sizes are equal. Values that are not finite have no mean:
///           whether there are any is the caller's to check
///   source  Sarfi et al. 2025, SparseLoCo, arXiv:2508.15706: bin width and means. The published
///           code rounds to the nearest of four levels, -2 to 1 of that width: of magnitudes about
///           one standard deviation, which is what top-k leaves, it gives a bin to those near 0, of
///           which there are none, and one to all that are positive
inline value_bins bin_values(std::span<const float> values, std::span<std::uint8_t> codes) {
    require_size_of({"values", values.size()}, {{"codes", codes.size()}}, "bin_values");
    if (values.empty()) return {};
    const auto n = static_cast<double>(values.size());
    double sum = 0.0, squares = 0.0;
    for (const float x : values) {
        const double wide = x;
        sum += wide;
        squares += wide * wide;  // exact: the same whether or not the two are fused
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
        // Rounding does not take a mean out of its bin, so that they rise.
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
