#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Computes y = 1 / (1 + exp(-x)); y may be x. The relative error is below 2e-7 down to x = -87;
/// below that y stays at exp(-87). Gives the same bits on every instruction set; NaN stays NaN.
void sigmoid(std::span<const float> x, std::span<float> y) noexcept;

/// Computes y = tanh x; y may be x. The relative error is below 2e-7, also near 0. Gives the same
/// bits on every instruction set; NaN stays NaN.
void tanh(std::span<const float> x, std::span<float> y) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/sigmoid_tanh.ipp"
#endif
