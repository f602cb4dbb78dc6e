#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Copies contiguous rows of `width` floats to rows that begin `next` floats apart. The two must
/// not share memory. Costs one read and one write of them.
void copy_rows(const float* from, float* to, std::int64_t rows, std::int64_t width,
               std::int64_t next) noexcept;

// Below, all spans have the length of the last one, which may be one of the others. Each function
// costs two reads and one write of it. It gives the same bits on every instruction set.

/// Computes to = a + b.
void sum(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// Computes to = a - b.
void difference(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// Computes to = a * b.
void product(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// Computes to = max(0, a + b); NaN stays NaN.
void rectified_sum(std::span<const float> a, std::span<const float> b,
                   std::span<float> to) noexcept;

/// Computes to = x where y > 0 and otherwise 0: the gradient of a rectifier with output y.
void where_positive(std::span<const float> y, std::span<const float> x,
                    std::span<float> to) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/elementwise.ipp"
#endif
