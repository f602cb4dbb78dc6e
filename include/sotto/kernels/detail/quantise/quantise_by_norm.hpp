#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// Options of a quantisation in steps of each block's Euclidean norm.
struct norm_quantisation {
    std::size_t block = 512;  // values that share a scale: a power of two from 256 to 2^20
    std::uint64_t seed = 0;   // a different one for every message
    std::uint64_t first = 0;  // index of x[0] in its message: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// Encodes values as codes of 8, 4 or 2 bits in steps of each block's Euclidean norm, rounded at
/// random: QSGD. dequantise<Bits> decodes them.
///   math    L = 2^(Bits-1) - 1;  scale = ||x||_2 over the block, at most the largest float;
///           code = x / scale * L, rounded at random so that E[decoded] = x
///           E ||decoded - x||^2 <= min(d / L^2, sqrt(d) / L) ||x||^2 for blocks of d values
///   shape, wire, random  as quantise<Bits>, with stochastic rounding
///   cost    as quantise<Bits>. The same pass finds the largest magnitude and sums the squares;
///           blocks whose largest magnitude is below 2^-31 or at least 2^32 are read once more
///   errors  as quantise<Bits>
///   source  Alistarh et al. 2017, QSGD, arXiv:1610.02132
template <int Bits, int Checked = code_width<Bits>::value>
void quantise_by_norm(const norm_quantisation& how, std::span<const float> x,
                      std::span<float> scales, std::span<std::uint8_t> codes);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/quantise_by_norm.ipp"
#endif
