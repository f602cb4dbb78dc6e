#pragma once

#include "sotto/losses/smoothed_cross_entropy.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/losses/detail/surprise.hpp"

namespace sotto {

SOTTO_DECL double smoothed_cross_entropy::value(std::span<const float> logits,
                                                std::span<const std::int32_t> labels) const {
    check(logits.size(), labels.size());
    return detail::surprise(name, logits, labels, [this](auto row, auto label, float top) {
        return wanted(row, label, top);
    });
}

SOTTO_DECL double smoothed_cross_entropy::gradient(std::span<const float> logits,
                                                   std::span<const std::int32_t> labels,
                                                   std::span<float> out) const {
    check(logits.size(), labels.size());
    return detail::surprise_gradient(
        name, logits, labels, out,
        [this](auto row, auto label, float top) { return wanted(row, label, top); },
        [this](std::size_t j, std::size_t label) {
            return (j == label ? 1.0 - smoothing : 0.0) + smoothing * towards[j];
        });
}

SOTTO_DECL void smoothed_cross_entropy::refuse(const std::string& what,
                                               const std::string& expected) {
    throw invalid_option(std::string(name) + ": " + what + "; expected " + expected);
}

SOTTO_DECL void smoothed_cross_entropy::check(std::size_t logits, std::size_t labels) const {
    require_option(name, "smoothing", smoothing, detail::allowed::at_least(0.0).below(1.0));
    if (towards.empty())
        refuse("towards has no frequencies", "one for each output, see frequencies_of");
    double sum = 0.0;
    for (std::size_t j = 0; j < towards.size(); ++j) {
        if (!detail::allowed::at_least(0.0).holds(towards[j]))
            refuse("the frequency of output " + std::to_string(j) + " is " +
                       std::to_string(towards[j]),
                   "at least 0 and finite");
        sum += towards[j];
    }
    if (std::abs(sum - 1.0) > 1e-6)
        refuse("the sum of all frequencies is " + std::to_string(sum), "1");
    if (labels > 0 && logits % labels == 0 && logits / labels != towards.size())
        refuse("towards has " + std::to_string(towards.size()) + " frequencies",
               std::to_string(logits / labels) + ", one for each output");
}

SOTTO_DECL double smoothed_cross_entropy::wanted(std::span<const float> row, std::size_t label,
                                                 float top) const {
    double sum = (1.0 - smoothing) * (row[label] - top);
    if (smoothing > 0.0) {
        double all = 0.0;  // skips frequency 0: 0 * -infinity is NaN
        for (std::size_t j = 0; j < row.size(); ++j)
            if (towards[j] > 0.0) all += towards[j] * (row[j] - top);
        sum += smoothing * all;
    }
    return sum;
}

}  // namespace sotto
