#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Below, all spans have one size; other sizes are an invalid_option. Two spans are the same memory
// or share none. Each function gives the same bits on every instruction set. Sums of squares and
// the search for values that are not finite are in reductions.hpp.

/// Computes x *= factor.
void scale(std::span<float> x, float factor) noexcept;

/// Computes sum += x.
void add(std::span<float> sum, std::span<const float> x);

/// Computes y -= factor * x; the product is rounded before the difference.
void subtract_scaled(std::span<float> y, float factor, std::span<const float> x);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/simd/arithmetic.ipp"
#endif
