#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Writes the signs of n floats: bit i % 8 of byte i / 8 is 1 if x[i] has the sign bit, as -0 has.
/// Bits after the last one are 0.
///   shape   signs: bytes_of_signs(n); they and x share no memory
///   cost    reads 4 bytes a value, writes an eighth of one
///   errors  invalid_option: a wrong number of bytes
///   source  Bernstein et al. 2018, signSGD, arXiv:1802.04434
void pack_signs(std::span<const float> x, std::span<std::uint8_t> signs);

/// Computes x[i] = magnitude, negated if bit i is 1.
///   shape, cost, errors  as pack_signs
void unpack_signs(std::span<const std::uint8_t> signs, float magnitude, std::span<float> x);

/// Computes sum[i] += magnitude, or -= if bit i is 1.
///   shape, errors  as pack_signs
void unpack_signs_add(std::span<const std::uint8_t> signs, float magnitude, std::span<float> sum);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/signs.ipp"
#endif
