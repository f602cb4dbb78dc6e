#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::kernels {

/// How a gradient enters velocity and accumulation. Inputs and outputs may be the same memory,
/// element by element.
struct momentum_step {
    float momentum = 0.9f;
    bool nesterov = false;
    float gradient_scale = 1.0f;  // local clipping
};

/// One step of momentum correction before anything is sent.
///   math    g' = scale * g;  u' = m u + g';  v' = v + u', with Nesterov v' = v + (m u' + g')
///   shape   all spans have one size
///   cost    reads 12 bytes and writes 8 bytes a weight
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, equations 7 and 8
SOTTO_UNFUSED inline void accumulate_velocity(const momentum_step& step,
                                              std::span<const float> gradient,
                                              std::span<const float> velocity,
                                              std::span<const float> accumulated,
                                              std::span<float> next_velocity,
                                              std::span<float> next_accumulated) noexcept {
    SOTTO_UNFUSED_BODY
    const float momentum = step.momentum, scale = step.gradient_scale;
    const std::size_t n = gradient.size();
    if (step.nesterov) {
        for (std::size_t i = 0; i < n; ++i) {
            const float g = scale * gradient[i];
            const float u = momentum * velocity[i] + g;
            next_velocity[i] = u;
            next_accumulated[i] = accumulated[i] + (momentum * u + g);
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            const float u = momentum * velocity[i] + scale * gradient[i];
            next_velocity[i] = u;
            next_accumulated[i] = accumulated[i] + u;
        }
    }
}

/// v' = v + scale * g; requires equal sizes.
SOTTO_UNFUSED inline void accumulate(std::span<const float> gradient, float scale,
                                     std::span<const float> accumulated,
                                     std::span<float> next_accumulated) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < gradient.size(); ++i)
        next_accumulated[i] = accumulated[i] + scale * gradient[i];
}

/// Momentum applied to a gradient that every rank shares, for tensors that are exchanged dense.
///   math    u' = m u + g;  g' = u', with Nesterov g' = g + m u'
SOTTO_UNFUSED inline void apply_momentum(float momentum, bool nesterov,
                                         std::span<const float> velocity,
                                         std::span<float> next_velocity,
                                         std::span<float> gradient) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        const float u = momentum * velocity[i] + gradient[i];
        next_velocity[i] = u;
        gradient[i] = nesterov ? gradient[i] + momentum * u : u;
    }
}

}  // namespace sotto::kernels
