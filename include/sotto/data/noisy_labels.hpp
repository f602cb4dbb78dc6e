#pragma once

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// The same examples, of which about a part have a label that is drawn by chance: what cannot be
/// learnt, and a model that learns it by heart is worse for it.
///   math    each label becomes, with probability `part`, one of classes() of them, all alike; that
///           may be the one it had
///   errors  invalid_option: a part that is not 0 to 1
///   source  Zhang et al. 2017, Understanding deep learning requires rethinking generalization,
///           arXiv:1611.03530
labelled_set noisy_labels(const labelled_set& of, double part, random_stream random);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/noisy_labels.ipp"
#endif
