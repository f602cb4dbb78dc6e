#pragma once

#include "sotto/kernels/detail/update/exponential_mean.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

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

SOTTO_DECL void move_mean(double keep, std::span<const float> x, std::span<const float> mean,
                          std::span<float> next) {
    require_size_of({"x", x.size()}, {{"mean", mean.size()}, {"next", next.size()}}, "move_mean");
    at_each_lane(exponential_mean_lanes{mean_shares(keep), x.data(), mean.data(), next.data()},
                 x.size());
}

SOTTO_DECL void move_mean(double keep, float scale, std::span<const float> x,
                          std::span<const float> y, std::span<float> mean) {
    require_size_of({"x", x.size()}, {{"y", y.size()}, {"mean", mean.size()}}, "move_mean");
    at_each_lane(
        mean_of_difference_lanes{mean_shares(keep), scale, x.data(), y.data(), mean.data()},
        x.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
