#pragma once

#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

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

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
