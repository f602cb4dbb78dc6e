#pragma once

#include "sotto/kernels/detail/update/delay_compensation.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/compensate.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

struct compensate_lanes {
    float lambda;
    float* g;
    const float *w, *before;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(g + i, w + i, before + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V gradient, weight, then;
        load(gradient, g + i);
        load(weight, w + i);
        load(then, before + i);
        compensate(lambda, weight, then, gradient);
        store(gradient, g + i);
    }
};

struct compensate_bounded_lanes {
    float lambda, bound;
    float* g;
    const float *w, *before;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(g + i, w + i, before + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V gradient, weight, then;
        load(gradient, g + i);
        load(weight, w + i);
        load(then, before + i);
        compensate_bounded(lambda, bound, weight, then, gradient);
        store(gradient, g + i);
    }
};

struct compensate_adaptively_lanes {
    adaptive_compensation by;
    float *g, *s;
    const float *w, *before;
    mean_shares shares{by.decay};

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(g + i, s + i, w + i, before + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V gradient, square, weight, then, lambda;
        load(gradient, g + i);
        load(square, s + i);
        load(weight, w + i);
        load(then, before + i);
        adapt(by, shares, gradient, square, lambda);
        store(square, s + i);
        compensate(lambda, weight, then, gradient);
        store(gradient, g + i);
    }
};

struct compensate_adaptively_bounded_lanes {
    adaptive_compensation by;
    float *g, *s;
    const float *w, *before;
    mean_shares shares{by.decay};

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(g + i, s + i, w + i, before + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V gradient, square, weight, then, lambda;
        load(gradient, g + i);
        load(square, s + i);
        load(weight, w + i);
        load(then, before + i);
        adapt(by, shares, gradient, square, lambda);
        store(square, s + i);
        compensate_bounded(lambda, by.bound, weight, then, gradient);
        store(gradient, g + i);
    }
};

struct descend_compensated_lanes {
    float rate, lambda;
    float* w;
    const float *g, *before;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(w + i, g + i, before + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient, weight, then;
        load(gradient, g + i);
        load(weight, w + i);
        load(then, before + i);
        compensate(lambda, weight, then, gradient);
        weight = weight - rate * gradient;
        store(weight, w + i);
    }
};

struct descend_compensated_adaptively_lanes {
    float rate;
    adaptive_compensation by;
    float *w, *s;
    const float *g, *before;
    mean_shares shares{by.decay};

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(w + i, s + i, g + i, before + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V gradient, square, weight, then, lambda;
        load(gradient, g + i);
        load(square, s + i);
        load(weight, w + i);
        load(then, before + i);
        adapt(by, shares, gradient, square, lambda);
        store(square, s + i);
        compensate(lambda, weight, then, gradient);
        weight = weight - rate * gradient;
        store(weight, w + i);
    }
};

SOTTO_DECL void compensate_delay(float lambda, std::span<float> g, std::span<const float> w,
                                 std::span<const float> before) {
    require_size_of({"g", g.size()}, {{"w", w.size()}, {"before", before.size()}},
                    "compensate_delay");
    at_each_lane(compensate_lanes{lambda, g.data(), w.data(), before.data()}, g.size());
}

SOTTO_DECL void compensate_delay(const constant_compensation& by, std::span<float> g,
                                 std::span<const float> w, std::span<const float> before) {
    if (by.bound <= 0.0f) return compensate_delay(by.lambda, g, w, before);
    require_size_of({"g", g.size()}, {{"w", w.size()}, {"before", before.size()}},
                    "compensate_delay");
    at_each_lane(compensate_bounded_lanes{by.lambda, by.bound, g.data(), w.data(), before.data()},
                 g.size());
}

SOTTO_DECL void compensate_delay(const adaptive_compensation& by, std::span<float> g,
                                 std::span<const float> w, std::span<const float> before,
                                 std::span<float> s) {
    require_size_of({"g", g.size()}, {{"w", w.size()}, {"before", before.size()}, {"s", s.size()}},
                    "compensate_delay");
    require_above_0("compensate_delay", "epsilon", by.epsilon);
    if (by.bound > 0.0f)
        at_each_lane(
            compensate_adaptively_bounded_lanes{by, g.data(), s.data(), w.data(), before.data()},
            g.size());
    else
        at_each_lane(compensate_adaptively_lanes{by, g.data(), s.data(), w.data(), before.data()},
                     g.size());
}

SOTTO_DECL void descend_compensated(float rate, float lambda, std::span<float> w,
                                    std::span<const float> g, std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"before", before.size()}},
                    "descend_compensated");
    at_each_lane(descend_compensated_lanes{rate, lambda, w.data(), g.data(), before.data()},
                 w.size());
}

SOTTO_DECL void descend_compensated(float rate, const adaptive_compensation& by, std::span<float> w,
                                    std::span<const float> g, std::span<const float> before,
                                    std::span<float> s) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"before", before.size()}, {"s", s.size()}},
                    "descend_compensated");
    require_above_0("descend_compensated", "epsilon", by.epsilon);
    at_each_lane(
        descend_compensated_adaptively_lanes{rate, by, w.data(), s.data(), g.data(), before.data()},
        w.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
