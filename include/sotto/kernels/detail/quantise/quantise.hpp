#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// How a value between two codes is rounded.
enum class rounding : std::uint8_t {
    nearest,     // ties to the even code
    stochastic,  // up or down at random, so that the expected result is the value
};

/// Options of a quantisation.
struct quantisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    rounding round = rounding::nearest;  // rounding between codes
    std::uint64_t seed = 0;   // of stochastic rounding: a different one for every message
    std::uint64_t first = 0;  // index of x[0] in its message: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// The width of codes: 2, 4 or 8 bits.
template <int Bits>
struct code_width {
    static_assert(Bits == 2 || Bits == 4 || Bits == 8, "quantise<Bits>: Bits is 2, 4 or 8");
    static constexpr int value = Bits;
};

/// Encodes values as codes of 8, 4 or 2 bits, in uniform steps of each block's scale.
///   math    L = 2^(Bits-1) - 1;  scale = max |x| over the block;  code = x / scale * L, rounded;
///           decoded = code / L * scale. The error is at most half a step scale / L. With
///           stochastic rounding it is at most a whole step, and E[decoded] = x.  A scale below
///           2^-96 becomes 0
///   shape   x: n floats;  scales: blocks_of(n, block);  codes: bytes_of_codes(n, Bits);  no two
///           spans share memory
///   wire    codes in two's complement without the lowest one, the first in the lowest bits of the
///           first byte; the last byte padded with zeros
///   random  depends on the counters first + i and the seed: the same bits on every instruction set
///           and for every division of a message into calls
///   cost    reads 4 bytes a value once and writes Bits / 8; blocks larger than the second-level
///           cache are read twice
///   errors  invalid_option: a wrong number of scales or bytes, an invalid block or first. The
///           caller must check that x is finite. A block that is not finite has an infinite or NaN
///           scale and codes 0, which decode to NaN
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132 (with the maximum as norm)
template <int Bits, int Checked = code_width<Bits>::value>
void quantise(const quantisation& how, std::span<const float> x, std::span<float> scales,
              std::span<std::uint8_t> codes);

/// Encodes x + residual; the part that is not encoded stays in the residual for the next call.
///   math    v = x + residual;  codes of v;  residual = v - decoded, with the values of dequantise
///   shape   as quantise;  residual: n floats
///   cost    reads 8 bytes a value and writes 4 + Bits / 8
///   errors  as quantise; if v is not finite, the block's residual becomes NaN
///   source  Karimireddy et al. 2019, Error feedback fixes signSGD, arXiv:1901.09847
template <int Bits, int Checked = code_width<Bits>::value>
void quantise_with_feedback(const quantisation& how, std::span<const float> x,
                            std::span<float> residual, std::span<float> scales,
                            std::span<std::uint8_t> codes);

/// Computes x = code / L * scale. Finite for all codes that quantise writes for finite values. The
/// code -L - 1, which it never writes, decodes to one step more.
///   shape   as quantise
///   cost    reads Bits / 8 bytes a value and writes 4
///   errors  invalid_option: a wrong number of scales or bytes, or an invalid block
template <int Bits, int Checked = code_width<Bits>::value>
void dequantise(std::size_t block, std::span<const float> scales,
                std::span<const std::uint8_t> codes, std::span<float> x);

/// Computes sum += code / L * scale.
///   shape, errors  as dequantise
template <int Bits, int Checked = code_width<Bits>::value>
void dequantise_add(std::size_t block, std::span<const float> scales,
                    std::span<const std::uint8_t> codes, std::span<float> sum);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/quantise.ipp"
#endif
