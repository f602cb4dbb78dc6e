#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/update/entries.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Gap-aware dampening, see sotto/staleness/gap_aware.hpp. All spans have one size; other sizes are
// an invalid_option. No two spans share memory. The same bits on every instruction set.

/// Computes g /= 1 + |w - before| / C, with C = lengths / steps, where lengths is above 0. Reads 16
/// bytes and writes 4 a weight.
void divide_by_gap(std::span<float> g, std::span<const float> w, std::span<const float> before,
                   std::span<const float> lengths, float steps);

/// The same for entries: values[k] is g at indices[k].
void divide_by_gap_at(std::span<float> values, std::span<const std::uint32_t> indices,
                      std::span<const float> w, std::span<const float> before,
                      std::span<const float> lengths, float steps);

/// Computes sum += |x|. Reads 8 bytes and writes 4 a value.
void add_magnitudes(std::span<float> sum, std::span<const float> x);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/gap.ipp"
#endif
