#pragma once

#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// Runs a step of an exponential mean. `next` may be `mean` or `x`. The same bits on every
/// instruction set.
///   math    next = keep * mean + (1 - keep) x, with 1 - keep rounded once, from double
///   shape   all spans have one size; other sizes are an invalid_option
///   cost    reads 8 bytes and writes 4 a value
void move_mean(double keep, std::span<const float> x, std::span<const float> mean,
               std::span<float> next);

/// The same for a difference, computed first: mean = keep * mean + (1 - keep) scale (x - y). Reads
/// 12 bytes and writes 4 a value.
void move_mean(double keep, float scale, std::span<const float> x, std::span<const float> y,
               std::span<float> mean);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/exponential_mean.ipp"
#endif
