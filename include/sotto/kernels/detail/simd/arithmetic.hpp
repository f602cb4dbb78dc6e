#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Below, all spans have one size, or it is an invalid_option, and are the same memory or share
// none. The same bits on every instruction set. Sums of squares and the search for values that are
// not finite are in reductions.hpp.

/// x *= factor.
void scale(std::span<float> x, float factor) noexcept;

/// sum += x.
void add(std::span<float> sum, std::span<const float> x);

/// y -= factor * x, product rounded before the difference.
void subtract_scaled(std::span<float> y, float factor, std::span<const float> x);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/simd/arithmetic.ipp"
#endif
