#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// Options of a ternarisation, which maps values to -1, 0 and 1.
struct ternarisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    float clip = 2.5f;         // in standard deviations; infinity: no clipping
    std::uint64_t seed = 0;    // a different one for every message
    std::uint64_t first = 0;   // index of x[0] in its message: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// Encodes values as -scale, 0 or scale at random, 2 bits each: TernGrad. dequantise<2> decodes
/// them.
///   math    v = x clipped to c sigma, sigma^2 = mean of x^2 over the block;  scale = max |v|;
///           code = sign(v) with probability |v| / scale, otherwise 0, so that E[decoded] = v
///           The deviation is about 0, the mean of gradients, and not about the block's mean:
///           otherwise a block of equal values has no deviation and all of it is clipped
///   shape, wire, random  as quantise<2>, with stochastic rounding
///   cost    as quantise<2>. For clipping, the same pass finds the largest magnitude and sums the
///           squares; blocks whose largest magnitude is below 2^-31 or at least 2^32 are read once
///           more
///   errors  as quantise<2>; also a clip that is not above 0. A block that is not finite has an
///           infinite or NaN scale and codes 0
///   source  Wen et al. 2017, TernGrad, arXiv:1705.07878, with blocks instead of layers. Packing
///           five codes to a byte would save a fifth of the bytes but cost divisions by 3
void ternarise(const ternarisation& how, std::span<const float> x, std::span<float> scales,
               std::span<std::uint8_t> codes);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/ternary.ipp"
#endif
