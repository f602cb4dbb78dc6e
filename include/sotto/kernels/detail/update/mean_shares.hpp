#pragma once

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// The shares of the mean and of a new value in a step of an exponential mean. Both are rounded
/// from double: a float b is off by up to 3e-8, which at b = 0.99999 is 0.3 % of 1 - b.
struct mean_shares {
    float kept, taken;

    constexpr explicit mean_shares(double keep) noexcept
        : kept(static_cast<float>(keep)), taken(static_cast<float>(1.0 - keep)) {}
};

/// Computes mean = b mean + (1 - b) x, as a step towards x if b is the less exact of the two
/// shares.
template <class V>
SOTTO_INLINE void take_into_mean(const mean_shares& by, const V& x, V& mean) noexcept {
    SOTTO_UNFUSED_BODY
    if (by.taken < 0.5f)
        mean = mean + by.taken * (x - mean);
    else
        mean = by.kept * mean + by.taken * x;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
