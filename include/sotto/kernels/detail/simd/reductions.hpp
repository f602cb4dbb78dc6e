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

// The same results, bit for bit, on every instruction set.

/// The sum of squares, in double. It is finite if and only if every value is: the square of the
/// largest float goes 10^231 times into a double.
///   cost    one read
double sum_of_squares(std::span<const float> x) noexcept;

/// x *= factor, and the sum of squares of what that gives: bit for bit what `scale` and then
/// `sum_of_squares` do, but in one read and one write. As there, the sum is finite if and only if
/// every scaled value is.
double scale_and_sum_squares(std::span<float> x, float factor) noexcept;

/// The sum of squared differences, in double, each from the two values as doubles: the square of a
/// distance, as between the parameters of two workers or between a worker's and the mean.
///   cost    one read of both
///   errors  invalid_option unless the sizes are equal
double squared_distance(std::span<const float> a, std::span<const float> b);

/// Of floats as they lie in memory.
float max_magnitude(std::span<const float> x) noexcept;

/// The first index whose value is NaN or infinite, or -1. `_in`: of floats at any address.
///   cost    one read
std::int64_t first_non_finite_in(std::span<const std::byte> x) noexcept;

/// Of floats as they lie in memory.
std::int64_t first_non_finite(std::span<const float> x) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/simd/reductions.ipp"
#endif
