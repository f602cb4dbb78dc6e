#pragma once

#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// The same examples, of which about a part have a label that is drawn by chance: what cannot be
/// learnt, and a model that learns it by heart is worse for it.
///   math    each label becomes, with probability `part`, one of classes() of them, all alike; that
///           may be the one it had
///   errors  invalid_option: a part that is not 0 to 1
///   source  Zhang et al. 2017, Understanding deep learning requires rethinking generalization,
///           arXiv:1611.03530
inline labelled_set noisy_labels(const labelled_set& of, double part, random_stream random) {
    require_option("noisy_labels", "part", part, detail::allowed::at_least(0.0).at_most(1.0));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(of.size()));
    for (std::int64_t i = 0; i < of.size(); ++i) {
        const bool is_noise = random.uniform() < part;
        const auto any =
            static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(of.classes())));
        labels[static_cast<std::size_t>(i)] = is_noise ? any : of.label(i);
    }
    return of.with_labels(labels);
}

}  // namespace sotto::data
