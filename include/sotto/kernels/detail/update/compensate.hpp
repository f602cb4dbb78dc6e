#pragma once

#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// Computes g += lambda g^2 (w - before), and leaves g if lambda is 0: the other factor may be
/// infinite, and -0 + 0 is not -0.
template <class V, class Lambda>
SOTTO_INLINE void compensate(const Lambda& lambda, const V& w, const V& before, V& g) noexcept {
    SOTTO_UNFUSED_BODY
    const V changed = g - (lambda * g) * (g * (before - w));
    g = lambda == 0.0f ? g : changed;
}

/// Computes s = m s + (1 - m) g^2;  lambda = lambda0 / sqrt(s + epsilon). If s would be infinite,
/// lambda is 0 for this step and s becomes the largest float, because no later gradient could
/// reduce infinity.
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

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
