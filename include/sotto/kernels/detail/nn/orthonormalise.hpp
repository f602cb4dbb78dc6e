#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Makes contiguous vectors orthogonal and of length 1, in order: each loses its projections on the
/// previous ones. A vector without remainder becomes zero. Returns the number of such vectors.
///   math    modified Gram-Schmidt in doubles: products of two vectors differ from 0 or 1 by at
///           most 2^-20, and mostly only by the rounding to float
///   shape   vectors: count * length floats;  wide: at least as many doubles, overwritten
///   cost    2 * count^2 * length operations. The same bits on every instruction set
///   errors  invalid_option: vectors of another length, too few doubles. Values that are not finite
///           become NaN or infinity
std::size_t orthonormalise(std::size_t length, std::span<float> vectors, std::span<double> wide);

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/nn/orthonormalise.ipp"
#endif
