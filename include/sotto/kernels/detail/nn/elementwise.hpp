#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Rows of `width` floats, one behind the other, to rows that begin `next` floats apart, which must
/// not be the same memory. Costs a read and a write of them.
void copy_rows(const float* from, float* to, std::int64_t rows, std::int64_t width,
               std::int64_t next) noexcept;

// Below, all spans have the length of the last, which may be one of the others. Each costs two
// reads and a write of it, and gives the same bits on every instruction set.

/// to = a + b
void sum(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// to = a - b
void difference(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// to = a * b
void product(std::span<const float> a, std::span<const float> b, std::span<float> to) noexcept;

/// to = max(0, a + b); a NaN stays one.
void rectified_sum(std::span<const float> a, std::span<const float> b,
                   std::span<float> to) noexcept;

/// to = x where y > 0 and else 0: what of a gradient comes back through a rectifier that put out y.
void where_positive(std::span<const float> y, std::span<const float> x,
                    std::span<float> to) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/elementwise.ipp"
#endif
