#pragma once

#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

/// Values, and what they count for in a sum.
struct weighted_values {
    float weight = 0.0f;            // of each value
    std::span<const float> values;  // as many as of the others
};

inline namespace SOTTO_UNIT {

/// A worker's own values become the weighted sum of them and its neighbours', in one pass, however
/// many there are. The weights are not looked at; of an average they add up to 1. How far workers
/// are apart says squared_distance in reductions.hpp.
///   math    x = w x + sum over j of w_j x_j, added in the order of j: the same bits on every
///           instruction set
///   cost    reads 4 bytes of each neighbour and of the own values, and writes 4, a value
///   errors  invalid_option unless all sizes are equal; none of the others may be the own values
///   source  Boyd et al. 2006, Randomized gossip algorithms
void average(float own_weight, std::span<float> own, std::span<const weighted_values> others);

/// The step of gossip by differences: a worker's own values move towards its neighbours'. Between
/// two workers that count alike for each other what one gains is, bit for bit, what the other
/// loses, before it is added up.
///   math    x = x + sum over j of w_j (x_j - x), added in the order of j; returns the sum of
///           squares of what was added to x, in double. It is finite if and only if every change
///           is. The same bits on every instruction set
///   cost    as average
///   errors  as average
///   source  Xiao and Boyd 2004, Fast linear iterations for distributed averaging
double mix(std::span<float> own, std::span<const weighted_values> others);

/// The step of push-sum: what a worker keeps of its values and what others give it of theirs. Of
/// such values only what they are over a weight, which is shared out alike, says something.
///   math    x' = s x + sum over j of s_j x_j, the bits of average; returns the sum of squares of
///           x' / a' - x / a, in double, where a and a' are the weight before and after. It is
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
