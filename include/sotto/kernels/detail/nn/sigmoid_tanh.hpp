#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// y = 1 / (1 + exp(-x)); y may be x. Relative error below 2e-7 down to x = -87; from there on it
/// stays at exp(-87). The same bits on every instruction set; a NaN stays one.
void sigmoid(std::span<const float> x, std::span<float> y) noexcept;

/// y = tanh x; y may be x. Relative error below 2e-7, also near 0. The same bits on every
/// instruction set; a NaN stays one.
void tanh(std::span<const float> x, std::span<float> y) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/sigmoid_tanh.ipp"
#endif
