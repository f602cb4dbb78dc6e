#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Two sums over the same values.
struct two_sums {
    float first = 0.0f;   // see the function
    float second = 0.0f;  // see the function
};

/// The normalisation of each value.
///   math    y = scale (x - mean) + shift; with `rectified`, the maximum of this and 0
struct normalisation {
    float mean = 0.0f;       // subtracted first
    float scale = 1.0f;      // multiplied next
    float shift = 0.0f;      // added last
    bool rectified = false;  // true: negative results become 0
};

// All spans of a call have the same length. The order of sums depends only on it and on the
// instruction set. Different orders and fused multiply-adds change the last bits between
// instruction sets.

/// Returns the sums of x - centre and of its square. Costs one read of x.
two_sums sums_of_deviations(std::span<const float> x, float centre) noexcept;

/// Computes y = scale (x - mean) + shift, with `rectified` its maximum with 0; y may be x. Costs
/// one read and one write.
void normalise(std::span<const float> x, std::span<float> y, const normalisation& how) noexcept;

/// Returns the sums of dy and of dy (x - mean). If y was rectified, dy counts only where y > 0.
/// Costs one read of both.
two_sums sums_of_gradients(std::span<const float> x, std::span<const float> dy,
                           const normalisation& how) noexcept;

/// Computes the gradient of a normalisation whose mean and scale depend on x. Costs two reads and
/// one write; dx may be x or dy.
///   math    dx = scale (dy - mean_change) - slope (x - mean), with dy as for sums_of_gradients
void normalise_back(std::span<const float> x, std::span<const float> dy, std::span<float> dx,
                    const normalisation& how, float mean_change, float slope) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/normalise.ipp"
#endif
