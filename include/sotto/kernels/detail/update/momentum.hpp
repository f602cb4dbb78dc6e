#pragma once

#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels {

/// Options of a step that adds a gradient to velocity and accumulation. Inputs and outputs may be
/// the same memory, element by element.
struct momentum_step {
    float momentum = 0.9f;        // share of the velocity that is kept
    bool nesterov = false;        // true: the accumulation takes the Nesterov step
    float gradient_scale = 1.0f;  // local clipping: min(1, limit / norm of the gradient)
};

inline namespace SOTTO_UNIT {

// Below, all spans have one size; other sizes are an invalid_option. The same bits on every
// instruction set.

/// Runs a step of momentum correction before compression.
///   math    g' = scale * g;  u' = m u + g';  v' = v + u', with Nesterov v' = v + (m u' + g')
///   cost    reads 12 bytes and writes 8 bytes a weight
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, equations 7 and 8
void accumulate_velocity(const momentum_step& step, std::span<const float> gradient,
                         std::span<const float> velocity, std::span<const float> accumulated,
                         std::span<float> next_velocity, std::span<float> next_accumulated);

/// Computes v' = v + scale * g. Reads 8 bytes and writes 4 a weight.
void accumulate(std::span<const float> gradient, float scale, std::span<const float> accumulated,
                std::span<float> next_accumulated);

/// Applies momentum to a gradient that all ranks share, for tensors that are exchanged dense.
///   math    u' = m u + g;  g' = u', with Nesterov g' = g + m u'
///   cost    reads 8 bytes and writes 8 bytes a weight
void apply_momentum(float momentum, bool nesterov, std::span<const float> velocity,
                    std::span<float> next_velocity, std::span<float> gradient);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/momentum.ipp"
#endif
