#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::kernels {

/// w -= rate * g.
SOTTO_UNFUSED inline void descend(float rate, std::span<float> w,
                                  std::span<const float> g) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
}

/// w[i] -= rate * g[i] at these indices alone.
SOTTO_UNFUSED inline void descend_at(float rate, std::span<float> w, std::span<const float> g,
                                     std::span<const std::uint32_t> indices) noexcept {
    SOTTO_UNFUSED_BODY
    for (const std::uint32_t i : indices) w[i] -= rate * g[i];
}

/// SGD with the decay term's own momentum: d = decay * w;  b = m b + d;  w -= rate * (g + b).
/// Nesterov: w -= rate * (g + (d + m b)).
SOTTO_UNFUSED inline void descend_with_decay(float rate, float decay, float momentum, bool nesterov,
                                             std::span<float> w, std::span<const float> g,
                                             std::span<float> b) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < w.size(); ++i) {
        const float d = decay * w[i];
        b[i] = momentum * b[i] + d;
        w[i] -= rate * (g[i] + (nesterov ? d + momentum * b[i] : b[i]));
    }
}

/// Momentum SGD: d = g + decay * w;  u = m u + d;  w -= rate * u.  Nesterov: w -= rate * (d + m u).
SOTTO_UNFUSED inline void descend_with_momentum(float rate, float decay, float momentum,
                                                bool nesterov, std::span<float> w,
                                                std::span<const float> g,
                                                std::span<float> u) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < w.size(); ++i) {
        const float d = g[i] + decay * w[i];
        u[i] = momentum * u[i] + d;
        w[i] -= rate * (nesterov ? d + momentum * u[i] : u[i]);
    }
}

/// What AdamW needs in a step; the corrections are 1 / (1 - beta^t).
struct adamw_step {
    float rate, decay, beta1, beta2, epsilon, correction1, correction2;
};

/// AdamW, with c1 and c2 the corrections: m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
/// w -= rate * (decay * w + m c1 / (sqrt(v c2) + epsilon)).
SOTTO_UNFUSED inline void descend_adamw(const adamw_step& s, std::span<float> w,
                                        std::span<const float> g, std::span<float> m,
                                        std::span<float> v) noexcept {
    SOTTO_UNFUSED_BODY
    for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = s.beta1 * m[i] + (1.0f - s.beta1) * g[i];
        v[i] = s.beta2 * v[i] + (1.0f - s.beta2) * (g[i] * g[i]);
        const float step = m[i] * s.correction1 / (std::sqrt(v[i] * s.correction2) + s.epsilon);
        w[i] -= s.rate * (s.decay * w[i] + step);
    }
}

}  // namespace sotto::kernels
