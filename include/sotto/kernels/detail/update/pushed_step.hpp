#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

// A server's step of plain SGD by a gradient in a message, as floats at any address. No array is
// read or written twice.

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

// Sets `next` to the result of `descend` or `descend_compensated` on a copy of w, bit for bit. It
// may be w or `before`; otherwise no two spans share memory. g holds the gradient in this machine's
// float format. Different sizes are an invalid_option.

/// Reads 8 bytes and writes 4 a weight.
void descend_pushed(float rate, std::span<float> next, std::span<const float> w,
                    std::span<const std::byte> g);

/// The same for an unchecked gradient. Returns true if all of it is finite; otherwise the contents
/// of `next` are invalid.
bool descend_pushed_if_finite(float rate, std::span<float> next, std::span<const float> w,
                              std::span<const std::byte> g);

/// DC-ASGD-c. Reads 12 bytes and writes 4 a weight.
void descend_pushed(float rate, float lambda, std::span<float> next, std::span<const float> w,
                    std::span<const std::byte> g, std::span<const float> before);

/// DC-ASGD-a; `by.bound` must be 0. Reads 16 bytes and writes 8 a weight.
///   errors  invalid_option unless epsilon is above 0
void descend_pushed(float rate, const adaptive_compensation& by, std::span<float> next,
                    std::span<const float> w, std::span<const std::byte> g,
                    std::span<const float> before, std::span<float> s);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/pushed_step.ipp"
#endif
