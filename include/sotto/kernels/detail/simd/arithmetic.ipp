#pragma once

#include "sotto/kernels/detail/simd/arithmetic.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct scale_lanes {
    float factor;
    float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(x + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value;
        load(value, x + i);
        value = value * factor;
        store(value, x + i);
    }
};

struct add_exchanges {
    float* sum;
    const float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(sum + i, x + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V value, more;
        load(value, sum + i);
        load(more, x + i);
        value = value + more;
        store(value, sum + i);
    }
};

struct subtract_scaled_lanes {
    float factor;
    float* y;
    const float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(y + i, x + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        SOTTO_UNFUSED_BODY
        V value, less;
        load(value, y + i);
        load(less, x + i);
        value = value - factor * less;
        store(value, y + i);
    }
};

SOTTO_DECL void scale(std::span<float> x, float factor) noexcept {
    at_each_lane(scale_lanes{factor, x.data()}, x.size());
}

SOTTO_DECL void add(std::span<float> sum, std::span<const float> x) {
    require_size_of({"sum", sum.size()}, {{"x", x.size()}}, "add");
    at_each_lane(add_exchanges{sum.data(), x.data()}, sum.size());
}

SOTTO_DECL void subtract_scaled(std::span<float> y, float factor, std::span<const float> x) {
    require_size_of({"y", y.size()}, {{"x", x.size()}}, "subtract_scaled");
    at_each_lane(subtract_scaled_lanes{factor, y.data(), x.data()}, y.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
