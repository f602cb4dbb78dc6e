#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

// The difference is subtracted the other way round, and lambda multiplies g before anything is
// squared: a gradient that is not late stays what it is to the last bit, -0 included, also where
// g^2 leaves the range of floats.

// The delay compensation of DC-ASGD: a gradient g that was taken at the weights `before`, but meets
// the weights w, gets the first term of its Taylor series, with lambda g^2 for the diagonal of the
// Hessian. The square is of the loss's own gradient: not scaled by a learning rate, nor clipped.
// All spans have one size, or it is an invalid_option, and no two share memory. The same bits on
// every instruction set. With lambda = 0 no gradient changes by a bit, and with w = before none
// that stays finite when lambda multiplies it. compensate_delay writes the gradients and
// descend_compensated the weights, each the first of its spans; both write s, the last.
//   source  Zheng et al. 2017, Asynchronous Stochastic Gradient Descent with Delay Compensation,
//           arXiv:1609.08326

/// g += lambda g^2 (w - before). Reads 12 bytes and writes 4 a weight.
void compensate_delay(float lambda, std::span<float> g, std::span<const float> w,
                      std::span<const float> before);

/// The same; with a bound, the correction is at most bound |g|.
void compensate_delay(const constant_compensation& by, std::span<float> g, std::span<const float> w,
                      std::span<const float> before);

/// The same with a lambda for each weight, from the mean square s, 0 at first:
///   math    s = m s + (1 - m) g^2;  g += lambda / sqrt(s + epsilon) g^2 (w - before)
///   cost    reads 16 bytes and writes 8 a weight
///   errors  invalid_option unless epsilon is above 0.  A gradient so large that s would leave the
///           range of floats is not corrected, and s becomes the largest float
void compensate_delay(const adaptive_compensation& by, std::span<float> g, std::span<const float> w,
                      std::span<const float> before, std::span<float> s);

/// One step of DC-ASGD-c, in one pass: bit for bit compensate_delay on a copy of g, then descend.
///   math    w -= rate (g + lambda g^2 (w - before))
///   cost    reads 12 bytes and writes 4 a weight
void descend_compensated(float rate, float lambda, std::span<float> w, std::span<const float> g,
                         std::span<const float> before);

/// One step of DC-ASGD-a, likewise. `by.bound` must be 0: what is bounded takes two passes.
///   math    s = m s + (1 - m) g^2;  w -= rate (g + lambda / sqrt(s + epsilon) g^2 (w - before))
///   cost    reads 16 bytes and writes 8 a weight
///   errors  as the adaptive compensate_delay
void descend_compensated(float rate, const adaptive_compensation& by, std::span<float> w,
                         std::span<const float> g, std::span<const float> before,
                         std::span<float> s);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/delay_compensation.ipp"
#endif
