#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

/// The weight of a correction, and how large it may be.
struct constant_compensation {
    float lambda = 0.04f;  // of the correction
    float bound = 0.0f;    // as a share of the gradient; 0: none
};

/// How the weight of a correction follows the gradients' mean square.
struct adaptive_compensation {
    float lambda = 2.0f;    // of the correction
    double decay = 0.95;    // of the mean square; 0 forgets all but the last gradient
    float epsilon = 1e-7f;  // above 0: the mean square itself may be 0
    float bound = 0.0f;     // of the correction, as a share of the gradient; 0: none
};

inline namespace SOTTO_UNIT {

// The difference is subtracted the other way round, and lambda multiplies g before anything is
// squared: a gradient that is not late stays what it is to the last bit, -0 included, also where
// g^2 leaves the range of floats.

/// g += lambda g^2 (w - before), and nothing at all where lambda is 0: the other factor may be
/// infinite there, and -0 + 0 is not -0.
template <class V, class Lambda>
SOTTO_INLINE void compensate(const Lambda& lambda, const V& w, const V& before, V& g) noexcept {
    SOTTO_UNFUSED_BODY
    const V changed = g - (lambda * g) * (g * (before - w));
    g = lambda == 0.0f ? g : changed;
}

/// s = m s + (1 - m) g^2;  lambda = lambda0 / sqrt(s + epsilon). Where s would be infinite, lambda
/// is 0 this once, and s the largest float: no later gradient could take infinity back.
template <class V>
SOTTO_INLINE void adapt(const adaptive_compensation& to, const mean_shares& shares, const V& g,
                        V& square, V& lambda) noexcept {
    SOTTO_UNFUSED_BODY
    take_into_mean(shares, V(g * g), square);
    lambda = square + to.epsilon;
    take_root(lambda);
    lambda = to.lambda / lambda;
    const V largest = V{} + (std::numeric_limits<float>::max)();
    square = square > largest ? largest : square;
}

/// The same, but the correction is at most `bound` |g|.
template <class V, class Lambda>
SOTTO_INLINE void compensate_bounded(const Lambda& lambda, float bound, const V& w, const V& before,
                                     V& g) noexcept {
    SOTTO_UNFUSED_BODY
    V correction = (lambda * g) * (g * (before - w));
    const V most = bound * (g < 0.0f ? -g : g);
    correction = correction > most ? most : correction;
    correction = correction < -most ? -most : correction;
    const V changed = g - correction;
    g = lambda == 0.0f ? g : changed;
}

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

// The delay compensation of DC-ASGD: a gradient g that was taken at the weights `before`, but meets
// the weights w, gets the first term of its Taylor series, with lambda g^2 for the diagonal of the
// Hessian. The square is of the loss's own gradient: not scaled by a learning rate, nor clipped.
// All spans have one size, or it is an invalid_option, and no two share memory. The same bits on
// every instruction set. With lambda = 0 no gradient changes by a bit, and with w = before none
// that stays finite when lambda multiplies it. compensate_delay writes the gradients and
// descend_compensated the weights, each the first of its spans; both write s, the last.
//   source  Zheng et al. 2017, Asynchronous Stochastic Gradient Descent with Delay Compensation,
//           arXiv:1609.08326

/// g += lambda g^2 (w - before). Reads 12 bytes and writes 4 a weight.
inline void compensate_delay(float lambda, std::span<float> g, std::span<const float> w,
                             std::span<const float> before) {
    require_size_of({"g", g.size()}, {{"w", w.size()}, {"before", before.size()}},
                    "compensate_delay");
    at_each_lane(compensate_lanes{lambda, g.data(), w.data(), before.data()}, g.size());
}

/// The same; with a bound, the correction is at most bound |g|.
inline void compensate_delay(const constant_compensation& by, std::span<float> g,
                             std::span<const float> w, std::span<const float> before) {
    if (by.bound <= 0.0f) return compensate_delay(by.lambda, g, w, before);
    require_size_of({"g", g.size()}, {{"w", w.size()}, {"before", before.size()}},
                    "compensate_delay");
    at_each_lane(compensate_bounded_lanes{by.lambda, by.bound, g.data(), w.data(), before.data()},
                 g.size());
}

/// The same with a lambda for each weight, from the mean square s, 0 at first:
///   math    s = m s + (1 - m) g^2;  g += lambda / sqrt(s + epsilon) g^2 (w - before)
///   cost    reads 16 bytes and writes 8 a weight
///   errors  invalid_option unless epsilon is above 0.  A gradient so large that s would leave the
///           range of floats is not corrected, and s becomes the largest float
inline void compensate_delay(const adaptive_compensation& by, std::span<float> g,
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

/// One step of DC-ASGD-c, in one pass: bit for bit compensate_delay on a copy of g, then descend.
///   math    w -= rate (g + lambda g^2 (w - before))
///   cost    reads 12 bytes and writes 4 a weight
inline void descend_compensated(float rate, float lambda, std::span<float> w,
                                std::span<const float> g, std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"g", g.size()}, {"before", before.size()}},
                    "descend_compensated");
    at_each_lane(descend_compensated_lanes{rate, lambda, w.data(), g.data(), before.data()},
                 w.size());
}

/// One step of DC-ASGD-a, likewise. `by.bound` must be 0: what is bounded takes two passes.
///   math    s = m s + (1 - m) g^2;  w -= rate (g + lambda / sqrt(s + epsilon) g^2 (w - before))
///   cost    reads 16 bytes and writes 8 a weight
///   errors  as the adaptive compensate_delay
inline void descend_compensated(float rate, const adaptive_compensation& by, std::span<float> w,
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
