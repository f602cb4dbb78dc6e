#pragma once

#include "sotto/losses/frequencies_of.hpp"

#include <concepts>
#include <cstddef>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL label_counts::label_counts(std::int64_t outputs) {
    if (outputs < 1)
        throw invalid_option("frequencies_of: there are " + std::to_string(outputs) +
                             " outputs; expected at least 1");
    counts_.resize(static_cast<std::size_t>(outputs));
}

SOTTO_DECL void label_counts::add(std::span<const std::int32_t> labels) {
    for (const std::int32_t label : labels) {
        if (label < 0 || static_cast<std::size_t>(label) >= counts_.size())
            throw invalid_option("frequencies_of: label " + std::to_string(total_) + " is " +
                                 std::to_string(label) + "; expected 0 to " +
                                 std::to_string(counts_.size()) +
                                 " exclusive, the number of outputs");
        ++counts_[static_cast<std::size_t>(label)];
        ++total_;
    }
}

SOTTO_DECL std::vector<double> label_counts::frequencies() const {
    if (total_ == 0)
        throw invalid_option("frequencies_of: there are no labels; expected at least 1");
    std::vector<double> all(counts_.size());
    for (std::size_t j = 0; j < all.size(); ++j)
        all[j] = static_cast<double>(counts_[j]) / static_cast<double>(total_);
    return all;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::vector<double> frequencies_of(std::span<const std::int32_t> labels,
                                              std::int64_t outputs) {
    detail::label_counts counts(outputs);
    counts.add(labels);
    return counts.frequencies();
}

}  // namespace sotto
