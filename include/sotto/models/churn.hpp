#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// How much the predictions of two models differ on the same examples: two trainings of one model,
/// whose accuracy may be equal, or a model before and after retraining.
struct churn {
    double difference = 0.0;    // mean over examples and outputs of |p_a - p_b|
    double flips = 0.0;         // part of the examples with different predicted outputs
    std::int64_t examples = 0;  // 0: all values are 0
};

}  // namespace sotto

namespace sotto::detail {

/// Rejects values that are not probabilities, such as logits.
void check_probabilities(const char* which, std::span<const float> values, std::size_t outputs);

}  // namespace sotto::detail

namespace sotto {

/// Returns the churn between two sets of predictions.
///   math    difference: mean over examples of the mean over outputs of |p_a - p_b|;  flips: part
///           of the examples with different largest probabilities; of equal ones the first counts.
///           With 1 output, that output is the probability of yes, and the prediction is yes above
///           1/2. The churn equals that of the 2 outputs yes and no
///   shape   a, b: examples x outputs, row-major; an example may be a position of a sequence
///   errors  invalid_option: sets of different sizes or with incomplete rows; a value below 0,
///           above 1 or NaN; a row whose sum is not 1, within 1/1000
///   source  Anil et al. 2018, arXiv:1804.03235
churn churn_between(std::span<const float> a, std::span<const float> b, std::int64_t outputs);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/models/churn.ipp"
#endif
