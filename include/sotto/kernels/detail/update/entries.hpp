#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"
#include "sotto/kernels/detail/top_k/largest_index.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"

// What servers do with the few entries of a gradient that came: values[k] is the gradient at
// indices[k], and 0 elsewhere. Each entry is a cache line of every array of weights, which is asked
// for some entries ahead: 25 000 of 25 million weights are then bound by memory, not by its delay.

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

// 25 000 entries, 2500 to a tensor, take 7 us of 173 less than with 24 ahead; more gain nothing.
inline constexpr std::size_t entries_ahead = 32;

/// Calls with each entry, when the lines of entries that follow were asked for.
template <class Visitor, class... Values>
SOTTO_INLINE void for_entries(std::span<const std::uint32_t> indices, Visitor&& visit,
                              const Values*... weights) noexcept {
    const std::size_t count = indices.size();
    for (std::size_t k = 0; k < count; ++k) {
        if (k + entries_ahead < count)
            (__builtin_prefetch(weights + indices[k + entries_ahead], 1), ...);
        visit(k, indices[k]);
    }
}

inline void require_entries(const char* name, std::span<const std::uint32_t> indices,
                            std::size_t values, std::size_t size) {
    require_size_of({"indices", indices.size()}, {{"values", values}}, name);
    if (const std::size_t at = first_beyond(indices, size); at < indices.size()) [[unlikely]]
        refuse(name, "index " + std::to_string(indices[at]) + " at place " + std::to_string(at),
               "less than " + std::to_string(size) + ", the size of the weights");
}

/// w[indices[k]] -= rate * values[k]. Sizes that differ, or an index beyond w, are an
/// invalid_option, before anything changes; as below.
inline void descend_values_at(float rate, std::span<float> w,
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

/// to[indices[k]] = from[indices[k]].
inline void copy_at(std::span<float> to, std::span<const float> from,
                    std::span<const std::uint32_t> indices) {
    require_size_of({"to", to.size()}, {{"from", from.size()}}, "copy_at");
    require_entries("copy_at", indices, indices.size(), to.size());
    float* const target = to.data();
    const float* const source = from.data();
    for_entries(
        indices, [&](std::size_t, std::uint32_t i) { target[i] = source[i]; }, target, source);
}

/// Calls take(k, i, g) with what compensation makes of each entry.
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

/// Plain SGD's step by an entry.
SOTTO_INLINE void descend_entry(float rate, float g, float& weight) noexcept {
    SOTTO_UNFUSED_BODY
    weight = weight - rate * g;
}

/// compensate_delay of entries: bit for bit what it makes of them in a whole gradient.
inline void compensate_delay_at(const constant_compensation& by, std::span<float> values,
                                std::span<const std::uint32_t> indices, std::span<const float> w,
                                std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"before", before.size()}}, "compensate_delay_at");
    require_entries("compensate_delay_at", indices, values.size(), w.size());
    compensated_entries(by, values, indices, w.data(), before.data(),
                        [&](std::size_t k, std::uint32_t, float g) { values[k] = g; });
}

/// The adaptive one. A mean square that was not touched has decayed all the same: it is
/// s[i] * scale, where scale has been multiplied by the decay for this gradient too.
///   math    s' = s[i] scale + (1 - m) g^2;  s[i] = s' / scale;  lambda = lambda0 / sqrt(s' + eps)
inline void compensate_delay_at(const adaptive_compensation& by, float scale,
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

/// compensate_delay_at on a copy of the values, then descend_values_at, bit for bit: each line is
/// asked for once.
inline void descend_compensated_at(float rate, const constant_compensation& by, std::span<float> w,
                                   std::span<const std::uint32_t> indices,
                                   std::span<const float> values, std::span<const float> before) {
    require_size_of({"w", w.size()}, {{"before", before.size()}}, "descend_compensated_at");
    require_entries("descend_compensated_at", indices, values.size(), w.size());
    float* const to = w.data();
    compensated_entries(
        by, values, indices, to, before.data(),
        [&](std::size_t, std::uint32_t i, float g) { descend_entry(rate, g, to[i]); });
}
/// The same, adaptive: `scale` and `s` as those of compensate_delay_at.
inline void descend_compensated_at(float rate, const adaptive_compensation& by, float scale,
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
