#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

namespace sotto::detail::kernels {

/// Parameters of an AdamW step; the corrections are 1 / (1 - beta^t).
struct adamw_step {
    float rate = 0.0f;         // learning rate
    float decay = 0.0f;        // weight decay
    double beta1 = 0.9;        // share of the mean gradient that is kept
    double beta2 = 0.999;      // share of the mean square that is kept
    float epsilon = 1e-8f;     // added to the root of the mean square
    float correction1 = 1.0f;  // of the mean gradient
    float correction2 = 1.0f;  // of the mean square
};

inline namespace SOTTO_UNIT {

// Below, all spans have one size; other sizes are an invalid_option. No two spans share memory. The
// same bits on every instruction set.

/// Computes w -= rate * g. Reads 8 bytes and writes 4 a weight.
void descend(float rate, std::span<float> w, std::span<const float> g);

/// Computes w[i] -= rate * g[i] at these indices only. An index that is not below the size is also
/// an invalid_option, before anything changes.
void descend_at(float rate, std::span<float> w, std::span<const float> g,
                std::span<const std::uint32_t> indices);

/// SGD with separate momentum of the decay term: d = decay * w;  b = m b + d;  w -= rate * (g + b).
/// Nesterov: w -= rate * (g + (d + m b)). Reads 12 bytes and writes 8 a weight.
void descend_with_decay(float rate, float decay, float momentum, bool nesterov, std::span<float> w,
                        std::span<const float> g, std::span<float> b);

/// Momentum SGD: d = g + decay * w;  u = m u + d;  w -= rate * u.  Nesterov: w -= rate * (d + m u).
/// Reads 12 bytes and writes 8 a weight.
void descend_with_momentum(float rate, float decay, float momentum, bool nesterov,
                           std::span<float> w, std::span<const float> g, std::span<float> u);

/// AdamW, with c1 and c2 the corrections: m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
/// w -= rate * (decay * w + m c1 / (sqrt(v c2) + epsilon)). 1 - b is rounded once, from double, and
/// v is at most the largest float. Reads 16 bytes and writes 12 a weight.
void descend_adamw(const adamw_step& s, std::span<float> w, std::span<const float> g,
                   std::span<float> m, std::span<float> v);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/updates.ipp"
#endif
