#pragma once

#include "sotto/kernels/detail/update/entries.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/top_k/largest_index.hpp"
#include "sotto/kernels/detail/update/compensate.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/entry_loops.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/update/mean_shares.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

SOTTO_DECL void descend_values_at(float rate, std::span<float> w,
                                  std::span<const std::uint32_t> indices,
                                  std::span<const float> values) {
    require_entries("descend_values_at", indices, values.size(), w.size());
    float* const to = w.data();
    const float* const g = values.data();
    for_entries(
        indices,
        [&](std::size_t k, std::uint32_t i) {
            SOTTO_UNFUSED_BODY
            to[i] = to[i] - rate * g[k];
        },
        to);
}

SOTTO_DECL void copy_at(std::span<float> to, std::span<const float> from,
                        std::span<const std::uint32_t> indices) {
    require_size_of({"to", to.size()}, {{"from", from.size()}}, "copy_at");
    require_entries("copy_at", indices, indices.size(), to.size());
    float* const target = to.data();
    const float* const source = from.data();
    for_entries(
        indices, [&](std::size_t, std::uint32_t i) { target[i] = source[i]; }, target, source);
}

/// Calls take(k, i, g) with the compensated gradient of each entry.
template <class Take>
void compensated_entries(const constant_compensation& by, std::span<const float> values,
                         std::span<const std::uint32_t> indices, const float* now,
                         const float* then, Take&& take) noexcept {
    for_entries(
        indices,
        [&](std::size_t k, std::uint32_t i) {
            float g = values[k];
            if (by.bound > 0.0f)
                compensate_bounded(by.lambda, by.bound, now[i], then[i], g);
            else
                compensate(by.lambda, now[i], then[i], g);
            take(k, i, g);
        },
        now, then);
}

template <class Take>
void compensated_entries(const adaptive_compensation& by, float scale,
                         std::span<const float> values, std::span<const std::uint32_t> indices,
                         const float* now, const float* then, float* squares,
                         Take&& take) noexcept {
    const float bound = by.bound, least = scale > 0.0f ? 1.0f / scale : 0.0f;
    const float taken = mean_shares(by.decay).taken;
    for_entries(
        indices,
        [&](std::size_t k, std::uint32_t i) {
            SOTTO_UNFUSED_BODY
            const float largest = (std::numeric_limits<float>::max)();
            float g = values[k];
            const float square = squares[i] * scale + taken * (g * g);
            const float lambda = by.lambda / std::sqrt(square + by.epsilon);
            squares[i] = (std::min)((std::min)(square, largest) * least, largest);
            if (bound > 0.0f)
                compensate_bounded(lambda, bound, now[i], then[i], g);
            else
                compensate(lambda, now[i], then[i], g);
            take(k, i, g);
        },
        now, then, squares);
}

/// Plain SGD's step for one entry.
SOTTO_INLINE void descend_entry(float rate, float g, float& weight) noexcept {
    SOTTO_UNFUSED_BODY
    weight = weight - rate * g;
}

SOTTO_DECL void compensate_delay_at(const constant_compensation& by, std::span<float> values,
                                    std::span<const std::uint32_t> indices,
                                    std::span<const float> w, std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"before", before.size()}}, "compensate_delay_at");
    require_entries("compensate_delay_at", indices, values.size(), w.size());
    compensated_entries(by, values, indices, w.data(), before.data(),
                        [&](std::size_t k, std::uint32_t, float g) { values[k] = g; });
}

SOTTO_DECL void compensate_delay_at(const adaptive_compensation& by, float scale,
                                    std::span<float> values, std::span<const std::uint32_t> indices,
                                    std::span<const float> w, std::span<const float> before,
                                    std::span<float> s) {
    require_size_of({"w", w.size()}, {{"before", before.size()}, {"s", s.size()}},
                    "compensate_delay_at");
    require_entries("compensate_delay_at", indices, values.size(), w.size());
    require_above_0("compensate_delay_at", "epsilon", by.epsilon);
    compensated_entries(by, scale, values, indices, w.data(), before.data(), s.data(),
                        [&](std::size_t k, std::uint32_t, float g) { values[k] = g; });
}

SOTTO_DECL void descend_compensated_at(float rate, const constant_compensation& by,
                                       std::span<float> w, std::span<const std::uint32_t> indices,
                                       std::span<const float> values,
                                       std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"before", before.size()}}, "descend_compensated_at");
    require_entries("descend_compensated_at", indices, values.size(), w.size());
    float* const to = w.data();
    compensated_entries(
        by, values, indices, to, before.data(),
        [&](std::size_t, std::uint32_t i, float g) { descend_entry(rate, g, to[i]); });
}

SOTTO_DECL void descend_compensated_at(float rate, const adaptive_compensation& by, float scale,
                                       std::span<float> w, std::span<const std::uint32_t> indices,
                                       std::span<const float> values, std::span<const float> before,
                                       std::span<float> s) {
    require_size_of({"w", w.size()}, {{"before", before.size()}, {"s", s.size()}},
                    "descend_compensated_at");
    require_entries("descend_compensated_at", indices, values.size(), w.size());
    require_above_0("descend_compensated_at", "epsilon", by.epsilon);
    float* const to = w.data();
    compensated_entries(
        by, scale, values, indices, to, before.data(), s.data(),
        [&](std::size_t, std::uint32_t i, float g) { descend_entry(rate, g, to[i]); });
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
