#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

/// How a gradient enters velocity and accumulation. Inputs and outputs may be the same memory,
/// element by element.
struct momentum_step {
    float momentum = 0.9f;        // what of the velocity is kept
    bool nesterov = false;        // whether the accumulation takes the step ahead
    float gradient_scale = 1.0f;  // local clipping: min(1, limit / norm of the gradient)
};

inline namespace SOTTO_UNIT {

template <bool Nesterov>
struct velocity_lanes {
    float momentum, scale;
    const float *g, *u, *v;
    float *next_u, *next_v;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(g + i, u + i, v + i, next_u + i, next_v + i);
    }

    template <class V>
    SOTTO_INLINE void compute(std::size_t i, V& velocity, V& accumulated) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient;
        load(gradient, g + i);
        load(velocity, u + i);
        load(accumulated, v + i);
        gradient = scale * gradient;
        velocity = momentum * velocity + gradient;
        accumulated = accumulated + (Nesterov ? V(momentum * velocity + gradient) : velocity);
    }

    template <class V>
    SOTTO_INLINE void keep(std::size_t i, const V& velocity, const V& accumulated) const noexcept {
        store(velocity, next_u + i);
        store(accumulated, next_v + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V velocity, accumulated;
        compute(i, velocity, accumulated);
        keep(i, velocity, accumulated);
    }
};

struct accumulate_lanes {
    float scale;
    const float *g, *v;
    float* next_v;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(g + i, v + i, next_v + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient, accumulated;
        load(gradient, g + i);
        load(accumulated, v + i);
        accumulated = accumulated + scale * gradient;
        store(accumulated, next_v + i);
    }
};

template <bool Nesterov>
struct momentum_lanes {
    float momentum;
    const float* u;
    float *next_u, *g;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(u + i, next_u + i, g + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V velocity, gradient;
        load(velocity, u + i);
        load(gradient, g + i);
        velocity = momentum * velocity + gradient;
        gradient = Nesterov ? V(gradient + momentum * velocity) : velocity;
        store(velocity, next_u + i);
        store(gradient, g + i);
    }
};

// Below, all spans have one size, or it is an invalid_option. The same bits on every instruction
// set.

/// One step of momentum correction before anything is sent.
///   math    g' = scale * g;  u' = m u + g';  v' = v + u', with Nesterov v' = v + (m u' + g')
///   cost    reads 12 bytes and writes 8 bytes a weight
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, equations 7 and 8
inline void accumulate_velocity(const momentum_step& step, std::span<const float> gradient,
                                std::span<const float> velocity, std::span<const float> accumulated,
                                std::span<float> next_velocity, std::span<float> next_accumulated) {
    const std::size_t n = gradient.size();
    require_size_of({"gradient", n},
                    {{"velocity", velocity.size()},
                     {"accumulated", accumulated.size()},
                     {"next_velocity", next_velocity.size()},
                     {"next_accumulated", next_accumulated.size()}},
                    "accumulate_velocity");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(velocity_lanes<Nesterov>{step.momentum, step.gradient_scale, gradient.data(),
                                              velocity.data(), accumulated.data(),
                                              next_velocity.data(), next_accumulated.data()},
                     n);
    };
    step.nesterov ? run.operator()<true>() : run.operator()<false>();
}

/// v' = v + scale * g. Reads 8 bytes and writes 4 a weight.
inline void accumulate(std::span<const float> gradient, float scale,
                       std::span<const float> accumulated, std::span<float> next_accumulated) {
    const std::size_t n = gradient.size();
    require_size_of(
        {"gradient", n},
        {{"accumulated", accumulated.size()}, {"next_accumulated", next_accumulated.size()}},
        "accumulate");
    at_each_lane(
        accumulate_lanes{scale, gradient.data(), accumulated.data(), next_accumulated.data()}, n);
}

/// Momentum applied to a gradient that every rank shares, for tensors that are exchanged dense.
///   math    u' = m u + g;  g' = u', with Nesterov g' = g + m u'
///   cost    reads 8 bytes and writes 8 bytes a weight
inline void apply_momentum(float momentum, bool nesterov, std::span<const float> velocity,
                           std::span<float> next_velocity, std::span<float> gradient) {
    const std::size_t n = gradient.size();
    require_size_of({"gradient", n},
                    {{"velocity", velocity.size()}, {"next_velocity", next_velocity.size()}},
                    "apply_momentum");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(momentum_lanes<Nesterov>{momentum, velocity.data(), next_velocity.data(),
                                              gradient.data()},
                     n);
    };
    nesterov ? run.operator()<true>() : run.operator()<false>();
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
