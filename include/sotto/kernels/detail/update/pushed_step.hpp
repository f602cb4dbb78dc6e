#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

// A server's step of plain SGD by a gradient that lies in a message, as floats at any address: no
// array is read or written twice.

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

// `next` becomes what `descend` or `descend_compensated` makes of a copy of w, bit for bit; it may
// be w or `before`, and otherwise no two share memory. g holds the gradient as this machine has
// floats. Sizes that differ are an invalid_option.

/// Reads 8 bytes and writes 4 a weight.
void descend_pushed(float rate, std::span<float> next, std::span<const float> w,
                    std::span<const std::byte> g);

/// The same of a gradient that nobody has looked at: whether all of it is finite. Where it is not,
/// what `next` holds is of no use.
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
