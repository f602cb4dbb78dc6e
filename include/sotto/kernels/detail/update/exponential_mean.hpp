#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// What a step of an exponential mean keeps of the mean, and what it takes of a new value. Both are
/// rounded from double: a float b is off by up to 3e-8, which at b = 0.99999 is 0.3 % of 1 - b.
struct mean_shares {
    float kept, taken;

    constexpr explicit mean_shares(double keep) noexcept
        : kept(static_cast<float>(keep)), taken(static_cast<float>(1.0 - keep)) {}
};

/// mean = b mean + (1 - b) x, as a step towards x where b is the less exact of the two shares.
template <class V>
SOTTO_INLINE void take_into_mean(const mean_shares& by, const V& x, V& mean) noexcept {
    SOTTO_UNFUSED_BODY
    if (by.taken < 0.5f)
        mean = mean + by.taken * (x - mean);
    else
        mean = by.kept * mean + by.taken * x;
}

struct exponential_mean_lanes {
    mean_shares by;
    const float *x, *mean;
    float* next;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(x + i, mean + i, next + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value, moved;
        load(value, x + i);
        load(moved, mean + i);
        take_into_mean(by, value, moved);
        store(moved, next + i);
    }
};

struct mean_of_difference_lanes {
    mean_shares by;
    float scale;
    const float *x, *y;
    float* mean;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(x + i, y + i, mean + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value, less, moved;
        load(value, x + i);
        load(less, y + i);
        load(moved, mean + i);
        take_into_mean(by, V(scale * (value - less)), moved);
        store(moved, mean + i);
    }
};

/// One step of an exponential mean. `next` may be `mean` or `x`. The same bits on every instruction
/// set.
///   math    next = keep * mean + (1 - keep) x, with 1 - keep rounded once, from double
///   shape   all spans have one size, or it is an invalid_option
///   cost    reads 8 bytes and writes 4 a value
inline void move_mean(double keep, std::span<const float> x, std::span<const float> mean,
                      std::span<float> next) {
    require_size_of({"x", x.size()}, {{"mean", mean.size()}, {"next", next.size()}}, "move_mean");
    at_each_lane(exponential_mean_lanes{mean_shares(keep), x.data(), mean.data(), next.data()},
                 x.size());
}

/// The same of a difference, which is taken first: mean = keep * mean + (1 - keep) scale (x - y).
/// Reads 12 bytes and writes 4 a value.
inline void move_mean(double keep, float scale, std::span<const float> x, std::span<const float> y,
                      std::span<float> mean) {
    require_size_of({"x", x.size()}, {{"y", y.size()}, {"mean", mean.size()}}, "move_mean");
    at_each_lane(
        mean_of_difference_lanes{mean_shares(keep), scale, x.data(), y.data(), mean.data()},
        x.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
