#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// Values and their weight in a sum.
struct weighted_values {
    float weight = 0.0f;            // of each value
    std::span<const float> values;  // the same number in all
};

inline namespace SOTTO_UNIT {

/// Replaces a worker's own values by the weighted sum of them and its neighbours', in one pass for
/// any number of neighbours. The weights are not checked; those of an average add up to 1.
/// squared_distance in reductions.hpp returns how far workers are apart.
///   math    x = w x + sum over j of w_j x_j, added in the order of j: the same bits on every
///           instruction set
///   cost    per value reads 4 bytes of each neighbour and of the own values, and writes 4
///   errors  invalid_option unless all sizes are equal; none of the others may be the own values
///   source  Boyd et al. 2006, Randomized gossip algorithms
void average(float own_weight, std::span<float> own, std::span<const weighted_values> others);

/// Runs a step of gossip by differences: a worker's own values move towards its neighbours'. If two
/// workers give each other the same weight, one gains exactly, bit for bit, what the other loses,
/// before the sum.
///   math    x = x + sum over j of w_j (x_j - x), added in the order of j. Returns the sum of
///           squares of the changes of x, in double. It is finite if and only if every change is.
///           The same bits on every instruction set
///   cost    as average
///   errors  as average
///   source  Xiao and Boyd 2004, Fast linear iterations for distributed averaging
double mix(std::span<float> own, std::span<const weighted_values> others);

/// Runs a step of push-sum: adds the share of its values that a worker keeps and the shares that
/// others send. Such values are meaningful only divided by a weight that is shared in the same way.
///   math    x' = s x + sum over j of s_j x_j, with the bits of average. Returns the sum of squares
///           of x' / a' - x / a, in double, where a and a' are the weight before and after. It is
///           finite only if every change is. The same bits on every instruction set
///   cost    as average
///   errors  as average
///   source  Kempe, Dobra, Gehrke 2003, Gossip-based computation of aggregate information
double share_out(float kept_share, std::span<float> own, std::span<const weighted_values> others,
                 float weight_before, float weight_after);

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/detail/update/averaging.ipp"
#endif
