#pragma once

#include "sotto/data/noisy_labels.hpp"

#include <cstdint>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::data {

SOTTO_DECL labelled_set noisy_labels(const labelled_set& of, double part, random_stream random) {
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
