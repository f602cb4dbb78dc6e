#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

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
value_bins bin_values(std::span<const float> values, std::span<std::uint8_t> codes);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/top_k/value_bins.ipp"
#endif
