#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels {

/// The means of the bins of values, strictly ascending.
struct value_bins {
    std::array<float, 4> means{};  // the first `count` are used
    std::size_t count = 0;         // 0 to 4

    /// The means in use.
    std::span<const float> used() const noexcept { return std::span(means).first(count); }
};

inline namespace SOTTO_UNIT {

/// Sorts values into four bins about their mean, each 6/4 standard deviations wide; the outer ones
/// are unbounded. Empty bins get no number. For values selected by magnitude these are the large
/// and the very large ones of either sign.
///   math    m, s: mean and standard deviation of the n values; edges m - 1.5 s, m, m + 1.5 s;
///           codes[i] = the bin of values[i] among the bins that are not empty. A bin is
///           represented by its mean. Thus sum (x - q)^2 = sum x^2 - sum over bins of count q^2, at
///           most sum x^2
///   shape   as many codes as values
///   cost    three scalar passes, because there are few values. The same bits on every processor
///   errors  invalid_option unless sizes are equal. The caller must check that values are finite;
///           others have no mean
///   source  Sarfi et al. 2025, SparseLoCo, arXiv:2508.15706: bin width and means. The published
///           code rounds to the nearest of four levels, -2 to 1 of that width. Top-k leaves
///           magnitudes of about one standard deviation. For them it uses one bin for values near
///           0, which do not occur, and one bin for all positive values
value_bins bin_values(std::span<const float> values, std::span<std::uint8_t> codes);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/top_k/value_bins.ipp"
#endif
