#pragma once

#include "sotto/kernels/detail/update/updates.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/top_k/largest_index.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct descend_lanes {
    float rate;
    float* w;
    const float* g;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(w + i, g + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V weight, gradient;
        load(weight, w + i);
        load(gradient, g + i);
        const V next = weight - rate * gradient;
        store(next, w + i);
    }
};

SOTTO_UNFUSED inline void descend_entries(float rate, float* w, const float* g,
                                          std::span<const std::uint32_t> indices) noexcept {
    SOTTO_UNFUSED_BODY
    for (const std::uint32_t i : indices) w[i] -= rate * g[i];
}

template <bool Nesterov>
struct descend_with_decay_lanes {
    float rate, decay, momentum;
    float *w, *b;
    const float* g;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(w + i, b + i, g + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V weight, gradient, buffer;
        load(weight, w + i);
        load(gradient, g + i);
        load(buffer, b + i);
        const V d = decay * weight;
        buffer = momentum * buffer + d;
        store(buffer, b + i);
        const V pull = Nesterov ? V(d + momentum * buffer) : buffer;
        const V next = weight - rate * (gradient + pull);
        store(next, w + i);
    }
};

template <bool Nesterov>
struct descend_with_momentum_lanes {
    float rate, decay, momentum;
    float *w, *u;
    const float* g;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(w + i, u + i, g + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V weight, gradient, velocity;
        load(weight, w + i);
        load(gradient, g + i);
        load(velocity, u + i);
        const V d = gradient + decay * weight;
        velocity = momentum * velocity + d;
        store(velocity, u + i);
        const V step = Nesterov ? V(d + momentum * velocity) : velocity;
        const V next = weight - rate * step;
        store(next, w + i);
    }
};

struct descend_adamw_lanes {
    adamw_step s;
    float *w, *m, *v;
    const float* g;
    mean_shares of_mean{s.beta1}, of_square{s.beta2};

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(w + i, m + i, v + i, g + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V weight, gradient, mean, square;
        load(weight, w + i);
        load(gradient, g + i);
        load(mean, m + i);
        load(square, v + i);
        take_into_mean(of_mean, gradient, mean);
        take_into_mean(of_square, V(gradient * gradient), square);
        // Not infinity, which no later gradient could reduce.
        const V largest = V{} + (std::numeric_limits<float>::max)();
        square = square > largest ? largest : square;
        store(mean, m + i);
        store(square, v + i);
        V root = square * s.correction2;
        take_root(root);
        const V step = mean * s.correction1 / (root + s.epsilon);
        const V next = weight - s.rate * (s.decay * weight + step);
        store(next, w + i);
    }
};

SOTTO_DECL void descend(float rate, std::span<float> w, std::span<const float> g) {
    require_size_of({"w", w.size()}, {{"g", g.size()}}, "descend");
    at_each_lane(descend_lanes{rate, w.data(), g.data()}, w.size());
}

SOTTO_DECL void descend_at(float rate, std::span<float> w, std::span<const float> g,
                           std::span<const std::uint32_t> indices) {
    require_size_of({"w", w.size()}, {{"g", g.size()}}, "descend_at");
    if (const std::size_t at = first_beyond(indices, w.size()); at < indices.size()) [[unlikely]]
        refuse("descend_at",
               "index " + std::to_string(indices[at]) + " at place " + std::to_string(at),
               "less than " + std::to_string(w.size()) + ", the size of w");
    descend_entries(rate, w.data(), g.data(), indices);
}

SOTTO_DECL void descend_with_decay(float rate, float decay, float momentum, bool nesterov,
                                   std::span<float> w, std::span<const float> g,
                                   std::span<float> b) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"b", b.size()}}, "descend_with_decay");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(
            descend_with_decay_lanes<Nesterov>{rate, decay, momentum, w.data(), b.data(), g.data()},
            w.size());
    };
    nesterov ? run.operator()<true>() : run.operator()<false>();
}

SOTTO_DECL void descend_with_momentum(float rate, float decay, float momentum, bool nesterov,
                                      std::span<float> w, std::span<const float> g,
                                      std::span<float> u) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"u", u.size()}}, "descend_with_momentum");
    const auto run = [&]<bool Nesterov>() {
        at_each_lane(descend_with_momentum_lanes<Nesterov>{rate, decay, momentum, w.data(),
                                                           u.data(), g.data()},
                     w.size());
    };
    nesterov ? run.operator()<true>() : run.operator()<false>();
}

SOTTO_DECL void descend_adamw(const adamw_step& s, std::span<float> w, std::span<const float> g,
                              std::span<float> m, std::span<float> v) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"m", m.size()}, {"v", v.size()}},
                    "descend_adamw");
    at_each_lane(descend_adamw_lanes{s, w.data(), m.data(), v.data(), g.data()}, w.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
