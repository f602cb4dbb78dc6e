#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// How values become -1, 0 and 1.
struct ternarisation {
    std::size_t block = 1024;  // values that share a scale: a power of two from 256 to 2^20
    float clip = 2.5f;         // in standard deviations; infinity: values stay as they are
    std::uint64_t seed = 0;    // another one for every message
    std::uint64_t first = 0;   // which value of its message x[0] is: a multiple of `block`
};

inline namespace SOTTO_UNIT {

/// Values as -scale, 0 or scale at random, 2 bits each: TernGrad. dequantise<2> decodes them.
///   math    v = x clipped to c sigma, sigma^2 = mean of x^2 over the block;  scale = max |v|;
///           code = sign(v) with probability |v| / scale, else 0, so that E[decoded] = v
///           About 0, which gradients have as their mean, and not about the mean: a block of equal
///           values would have no deviation, and all of it would be clipped
///   shape, wire, random  as quantise<2>, with stochastic rounding
///   cost    as quantise<2>; clipping adds the squares while it looks for the largest, and blocks
///           whose largest is below 2^-31 or from 2^32 on are read once more
///   errors  as quantise<2>; also a clip that is not above 0. A block that is not finite has an
///           infinite or NaN scale and codes 0
///   source  Wen et al. 2017, TernGrad, arXiv:1705.07878, with blocks in place of layers. Five
///           codes to a byte would save a fifth of the bytes and cost divisions by 3
void ternarise(const ternarisation& how, std::span<const float> x, std::span<float> scales,
               std::span<std::uint8_t> codes);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/quantise/ternary.ipp"
#endif
