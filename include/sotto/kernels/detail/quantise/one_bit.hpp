#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// The decoded values of a block: one for values without a sign bit, one for values with it.
struct sign_means {
    float positive, negative;  // means of values
};

inline namespace SOTTO_UNIT {

/// Encodes one bit a value and keeps the rest in the residual: 1-bit SGD.
///   math    v = x + residual;  for each block the mean of the values with a sign bit, which -0
///           has, and of those without (0 if there are none);  residual = v - the mean of its sign
///   shape   x, residual: n floats;  means: blocks_of(n, block);  signs: bytes_of_signs(n), as
///           pack_signs writes them;  block: a power of two from 256 to 2^20;  no two spans share
///           memory
///   cost    reads 8 bytes a value and writes 4 and an eighth; blocks larger than the second-level
///           cache are read twice. The same bits on every instruction set: sums are of doubles, in
///           one order
///   errors  invalid_option: a wrong number of means, bytes or residuals, or an invalid block.
///           Finite v have finite means. Infinity and NaN enter the mean of their sign, and thus
///           the residual of all values of that sign in the block
///   source  Seide et al. 2014, 1-bit stochastic gradient descent (Interspeech); a block is their
///           column
void quantise_one_bit(std::size_t block, std::span<const float> x, std::span<float> residual,
                      std::span<sign_means> means, std::span<std::uint8_t> signs);

/// Computes x = the block's mean of the sign.
///   cost    reads an eighth of a byte a value and writes 4
///   shape, errors  as quantise_one_bit
void dequantise_one_bit(std::size_t block, std::span<const sign_means> means,
                        std::span<const std::uint8_t> signs, std::span<float> x);

/// Computes sum += the block's mean of the sign.
///   shape, errors  as quantise_one_bit
void dequantise_one_bit_add(std::size_t block, std::span<const sign_means> means,
                            std::span<const std::uint8_t> signs, std::span<float> sum);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/one_bit.ipp"
#endif
