#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// How a value between two codes becomes one of them.
enum class rounding : std::uint8_t {
    nearest,     // ties to the even code
    stochastic,  // up or down at random, so that the mean of many is the value itself
};

/// How values become codes.
struct quantisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    rounding round = rounding::nearest;  // to which code a value goes
    std::uint64_t seed = 0;              // of stochastic rounding: another one for every message
    std::uint64_t first = 0;  // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// The width of codes, which there are of 2, 4 and 8 bits.
template <int Bits>
struct code_width {
    static_assert(Bits == 2 || Bits == 4 || Bits == 8, "quantise<Bits>: Bits is 2, 4 or 8");
    static constexpr int value = Bits;
};

/// Values as codes of 8, 4 or 2 bits in uniform steps of each block's own scale.
///   math    L = 2^(Bits-1) - 1;  scale = max |x| over the block;  code = x / scale * L, rounded;
///           decoded = code / L * scale: off by at most half a step scale / L, or with stochastic
///           rounding a whole one, and then E[decoded] = x.  A scale below 2^-96 becomes 0
///   shape   x: n floats;  scales: blocks_of(n, block);  codes: bytes_of_codes(n, Bits);  no two
///           spans share memory
///   wire    codes of two's complement without the lowest one, the first in the lowest bits of the
///           first byte; the last byte filled up with zeros
///   random  counters first + i and the seed decide: the same bits on every instruction set, and
///           however a message is cut into calls
///   cost    reads 4 bytes a value once and writes Bits / 8; blocks that outgrow the processor's
///           second cache are read twice
///   errors  invalid_option: another number of scales or bytes, a block or first that can't be.
///           Whether x is finite is the caller's to check: a block that isn't has an infinite or
///           NaN scale and codes 0, which decode to NaN
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132 (with the maximum as norm)
template <int Bits, int Checked = code_width<Bits>::value>
void quantise(const quantisation& how, std::span<const float> x, std::span<float> scales,
              std::span<std::uint8_t> codes);

/// The same for x + residual; what is not sent stays behind for the next time.
///   math    v = x + residual;  codes of v;  residual = v - decoded, with what dequantise gives
///   shape   as quantise;  residual: n floats
///   cost    reads 8 bytes a value and writes 4 + Bits / 8
///   errors  as quantise; where v is not finite, the block's residual becomes NaN
///   source  Karimireddy et al. 2019, Error feedback fixes signSGD, arXiv:1901.09847
template <int Bits, int Checked = code_width<Bits>::value>
void quantise_with_feedback(const quantisation& how, std::span<const float> x,
                            std::span<float> residual, std::span<float> scales,
                            std::span<std::uint8_t> codes);

/// x = code / L * scale. Finite for all that quantise writes of finite values; the one code that it
/// never writes, -L - 1, is one step further.
///   shape   as quantise
///   cost    reads Bits / 8 bytes a value and writes 4
///   errors  invalid_option: another number of scales or bytes, or a block that can't be
template <int Bits, int Checked = code_width<Bits>::value>
void dequantise(std::size_t block, std::span<const float> scales,
                std::span<const std::uint8_t> codes, std::span<float> x);

/// sum += code / L * scale.
///   shape, errors  as dequantise
template <int Bits, int Checked = code_width<Bits>::value>
void dequantise_add(std::size_t block, std::span<const float> scales,
                    std::span<const std::uint8_t> codes, std::span<float> sum);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/quantise.ipp"
#endif
