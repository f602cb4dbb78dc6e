#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Makes vectors, one behind the other, orthogonal to each other and of length 1, each from what
/// the ones before leave of it; one of which nothing is left becomes zero. Says how many did.
///   math    Gram-Schmidt, modified, in doubles: products of two vectors are off from 0 or 1 by
///           2^-20 at most, and mostly by the rounding to float alone
///   shape   vectors: count * length floats;  wide: at least as many doubles, overwritten
///   cost    2 * count^2 * length operations. The same bits on every instruction set
///   errors  invalid_option: vectors of another length, too few doubles. What is not finite
///           becomes NaN, or infinity
std::size_t orthonormalise(std::size_t length, std::span<float> vectors, std::span<double> wide);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/orthonormalise.ipp"
#endif
