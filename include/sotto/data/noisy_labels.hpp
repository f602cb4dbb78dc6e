#pragma once

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// Returns the same examples with labels replaced at random with probability `part`. Such labels
/// cannot be learned, and a model that memorises them gets worse.
///   math    with probability `part` a label becomes one of classes(), drawn uniformly; it may be
///           the original label
///   errors  invalid_option: a part outside [0, 1]
///   source  Zhang et al. 2017, Understanding deep learning requires rethinking generalization,
///           arXiv:1611.03530
labelled_set noisy_labels(const labelled_set& of, double part, random_stream random);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/noisy_labels.ipp"
#endif
