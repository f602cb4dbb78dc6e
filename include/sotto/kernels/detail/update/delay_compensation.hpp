#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

// The difference has the opposite sign, and lambda multiplies g before squaring. A gradient without
// delay thus keeps all its bits, -0 included, even if g^2 leaves the range of floats.

// The delay compensation of DC-ASGD. A gradient g computed at the weights `before` is applied to
// the weights w. It gets the first term of its Taylor series, with lambda g^2 for the diagonal of
// the Hessian. The square is of the loss's own gradient, not scaled by a learning rate or clipped.
// All spans have one size; other sizes are an invalid_option. No two spans share memory. The same
// bits on every instruction set. With lambda = 0 no bit of a gradient changes. With w = before no
// gradient changes that stays finite when multiplied by lambda. compensate_delay writes the
// gradients and descend_compensated the weights, each the first span; both write s, the last span.
//   source  Zheng et al. 2017, Asynchronous Stochastic Gradient Descent with Delay Compensation,
//           arXiv:1609.08326

/// Computes g += lambda g^2 (w - before). Reads 12 bytes and writes 4 a weight.
void compensate_delay(float lambda, std::span<float> g, std::span<const float> w,
                      std::span<const float> before);

/// The same; with a bound, the correction is at most bound |g|.
void compensate_delay(const constant_compensation& by, std::span<float> g, std::span<const float> w,
                      std::span<const float> before);

/// The same with a lambda for each weight, from the mean square s, initially 0:
///   math    s = m s + (1 - m) g^2;  g += lambda / sqrt(s + epsilon) g^2 (w - before)
///   cost    reads 16 bytes and writes 8 a weight
///   errors  invalid_option unless epsilon is above 0.  If a gradient would take s out of the range
///           of floats, it is not corrected and s becomes the largest float
void compensate_delay(const adaptive_compensation& by, std::span<float> g, std::span<const float> w,
                      std::span<const float> before, std::span<float> s);

/// Runs a step of DC-ASGD-c in one pass: bit for bit compensate_delay on a copy of g, then descend.
///   math    w -= rate (g + lambda g^2 (w - before))
///   cost    reads 12 bytes and writes 4 a weight
void descend_compensated(float rate, float lambda, std::span<float> w, std::span<const float> g,
                         std::span<const float> before);

/// Runs a step of DC-ASGD-a, likewise. `by.bound` must be 0: a bound takes two passes.
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
