#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// How much what two models say of the same examples differs: of two trainings of one model, whose
/// accuracy may be the same all the while, or of one before and after it was trained again.
struct churn {
    double difference = 0.0;    // mean over examples and outputs of |p_a - p_b|
    double flips = 0.0;         // the part of the examples of which they say another output
    std::int64_t examples = 0;  // of none the others are 0
};

}  // namespace sotto

namespace sotto::detail {

/// Refuses what are no probabilities: logits, above all.
void check_probabilities(const char* which, std::span<const float> values, std::size_t outputs);

}  // namespace sotto::detail

namespace sotto {

/// The churn between two sets of predictions.
///   math    difference: mean over examples of the mean over outputs of |p_a - p_b|;  flips: part
///           of the examples with another largest probability, of equal ones the first. With 1
///           output it is the probability of yes, and the answer is yes above 1/2: the churn is
///           that of a yes beside its no, 2 outputs
///   shape   a, b: examples x outputs, row-major; an example may be a position of a sequence
///   errors  invalid_option: sets of different size, or not of whole rows; a value that is below 0,
///           above 1 or no number, a row whose sum is not 1, within 1/1000: no probabilities
///   source  Anil et al. 2018, arXiv:1804.03235
churn churn_between(std::span<const float> a, std::span<const float> b, std::int64_t outputs);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/models/churn.ipp"
#endif
