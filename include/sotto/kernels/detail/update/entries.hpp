#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/compensation.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/exponential_mean.hpp"

// Server updates for a sparse gradient: values[k] is the gradient at indices[k], and 0 elsewhere.
// Each entry is a cache line of every array of weights, prefetched some entries ahead. Updates of
// 25 000 of 25 million weights are then bound by memory bandwidth, not latency.

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

/// Computes w[indices[k]] -= rate * values[k]. Different sizes, or an index beyond w, are an
/// invalid_option before anything changes, here and below.
void descend_values_at(float rate, std::span<float> w, std::span<const std::uint32_t> indices,
                       std::span<const float> values);

/// Copies to[indices[k]] = from[indices[k]].
void copy_at(std::span<float> to, std::span<const float> from,
             std::span<const std::uint32_t> indices);

/// Runs compensate_delay on entries, bit for bit as in a whole gradient.
void compensate_delay_at(const constant_compensation& by, std::span<float> values,
                         std::span<const std::uint32_t> indices, std::span<const float> w,
                         std::span<const float> before);

/// The adaptive one. A mean square without an entry decays too: it is s[i] * scale, and scale
/// already includes the decay for this gradient.
///   math    s' = s[i] scale + (1 - m) g^2;  s[i] = s' / scale;  lambda = lambda0 / sqrt(s' + eps)
void compensate_delay_at(const adaptive_compensation& by, float scale, std::span<float> values,
                         std::span<const std::uint32_t> indices, std::span<const float> w,
                         std::span<const float> before, std::span<float> s);

/// Runs compensate_delay_at on a copy of the values, then descend_values_at, bit for bit. Each line
/// is fetched once.
void descend_compensated_at(float rate, const constant_compensation& by, std::span<float> w,
                            std::span<const std::uint32_t> indices, std::span<const float> values,
                            std::span<const float> before);

/// The same, adaptive: `scale` and `s` as in compensate_delay_at.
void descend_compensated_at(float rate, const adaptive_compensation& by, float scale,
                            std::span<float> w, std::span<const std::uint32_t> indices,
                            std::span<const float> values, std::span<const float> before,
                            std::span<float> s);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/entries.ipp"
#endif
