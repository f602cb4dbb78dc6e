#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

using sotto::detail::is_finite;

// Each function gives the same bits on every instruction set.

/// Returns the sum of squares, in double. It is finite if and only if every value is: a double
/// holds 10^231 times the square of the largest float.
///   cost    one read
double sum_of_squares(std::span<const float> x) noexcept;

/// Computes x *= factor and returns the sum of squares of the result. The bits equal those of
/// `scale` and then `sum_of_squares`, but with one read and one write. The sum is finite if and
/// only if every scaled value is.
double scale_and_sum_squares(std::span<float> x, float factor) noexcept;

/// Returns the sum of squared differences, in double, each computed from both values as doubles.
/// This is a squared distance, as between the parameters of two workers or of a worker and the
/// mean.
///   cost    one read of both
///   errors  invalid_option unless the sizes are equal
double squared_distance(std::span<const float> a, std::span<const float> b);

/// Returns the largest |x|, 0 for none; NaN if there is one.
float max_magnitude(std::span<const float> x) noexcept;

/// Returns the index of the first value that is NaN or infinite, or -1. `_in`: floats at any
/// address.
///   cost    one read
std::int64_t first_non_finite_in(std::span<const std::byte> x) noexcept;

/// The same for aligned floats.
std::int64_t first_non_finite(std::span<const float> x) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/simd/reductions.ipp"
#endif
