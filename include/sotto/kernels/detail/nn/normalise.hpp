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

/// What normalisation does to every value.
///   math    y = scale (x - mean) + shift, and with `rectified` the larger of that and 0
struct normalisation {
    float mean = 0.0f;       // taken away first
    float scale = 1.0f;      // multiplied by then
    float shift = 0.0f;      // added at last
    bool rectified = false;  // whether what is below 0 becomes 0
};

// Spans of one call have one length. Sums are in an order that depends on it and the instruction
// set alone; with no multiply-add fused or with another order of the sums, their last bits differ
// between instruction sets.

/// The sums of x - centre and of its square. Costs a read of x.
two_sums sums_of_deviations(std::span<const float> x, float centre) noexcept;

/// y = scale (x - mean) + shift, or the larger of that and 0; y may be x. Costs a read and a write.
void normalise(std::span<const float> x, std::span<float> y, const normalisation& how) noexcept;

/// The sums of dy and of dy (x - mean), where dy counts only where y > 0 if y was rectified. Costs
/// a read of both.
two_sums sums_of_gradients(std::span<const float> x, std::span<const float> dy,
                           const normalisation& how) noexcept;

/// The way back through a normalisation whose mean and scale depend on x. Costs two reads and a
/// write; dx may be x or dy.
///   math    dx = scale (dy - mean_change) - slope (x - mean), with dy as for sums_of_gradients
void normalise_back(std::span<const float> x, std::span<const float> dy, std::span<float> dx,
                    const normalisation& how, float mean_change, float slope) noexcept;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/normalise.ipp"
#endif
