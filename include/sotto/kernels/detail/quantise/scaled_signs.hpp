#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Writes the signs of n floats as pack_signs and returns the mean of their magnitudes, 0 for none:
/// the magnitude with which unpack_signs is nearest to the floats.
///   cost    reads 4 bytes a value once, writes an eighth of one. The same bits on every
///           instruction set: sums are of doubles, in one order
///   errors  invalid_option: a wrong number of bytes. Infinity and NaN enter the mean
float pack_signs_and_mean(std::span<const float> x, std::span<std::uint8_t> signs);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/scaled_signs.ipp"
#endif
