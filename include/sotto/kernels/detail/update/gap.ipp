#pragma once

#include "sotto/kernels/detail/update/gap.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/entry_loops.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

template <class V>
SOTTO_INLINE void take_magnitude(V& x) noexcept {
    x = x < 0.0f ? -x : x;
}

/// Computes g / (1 + |w - before| n / lengths), or g if lengths is 0: nothing has moved there.
template <class V>
SOTTO_INLINE void divide_by_gap(const V& w, const V& before, const V& lengths, float steps,
                                V& g) noexcept {
    SOTTO_UNFUSED_BODY
    V gap = w - before;
    take_magnitude(gap);
    const V some = lengths > 0.0f ? lengths : V{} + 1.0f;
    const V divided = g / (1.0f + gap * steps / some);
    g = lengths > 0.0f ? divided : g;
}

struct divide_by_gap_lanes {
    float steps;
    float* g;
    const float *w, *before, *lengths;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept {
        fetch_ahead(g + i, w + i, before + i, lengths + i);
    }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V gradient, weight, then, length;
        load(gradient, g + i);
        load(weight, w + i);
        load(then, before + i);
        load(length, lengths + i);
        divide_by_gap(weight, then, length, steps, gradient);
        store(gradient, g + i);
    }
};

struct add_magnitude_lanes {
    float* sum;
    const float* x;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_ahead(sum + i, x + i); }

    template <class V>
    SOTTO_INLINE void at(std::size_t i) const noexcept {
        V total, value;
        load(total, sum + i);
        load(value, x + i);
        take_magnitude(value);
        total = total + value;
        store(total, sum + i);
    }
};

SOTTO_DECL void divide_by_gap(std::span<float> g, std::span<const float> w,
                              std::span<const float> before, std::span<const float> lengths,
                              float steps) {
    require_size_of({"g", g.size()},
                    {{"w", w.size()}, {"before", before.size()}, {"lengths", lengths.size()}},
                    "divide_by_gap");
    at_each_lane(divide_by_gap_lanes{steps, g.data(), w.data(), before.data(), lengths.data()},
                 g.size());
}

SOTTO_DECL void divide_by_gap_at(std::span<float> values, std::span<const std::uint32_t> indices,
                                 std::span<const float> w, std::span<const float> before,
                                 std::span<const float> lengths, float steps) {
    require_size_of({"w", w.size()}, {{"before", before.size()}, {"lengths", lengths.size()}},
                    "divide_by_gap_at");
    require_entries("divide_by_gap_at", indices, values.size(), w.size());
    for (std::size_t k = 0; k < indices.size(); ++k)
        divide_by_gap(w[indices[k]], before[indices[k]], lengths[indices[k]], steps, values[k]);
}

SOTTO_DECL void add_magnitudes(std::span<float> sum, std::span<const float> x) {
    require_size_of({"sum", sum.size()}, {{"x", x.size()}}, "add_magnitudes");
    at_each_lane(add_magnitude_lanes{sum.data(), x.data()}, sum.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
