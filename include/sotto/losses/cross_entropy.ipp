#pragma once

#include "sotto/losses/cross_entropy.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/losses/detail/surprise.hpp"

namespace sotto {

SOTTO_DECL double cross_entropy::value(std::span<const float> logits,
                                       std::span<const std::int32_t> labels) const {
    check();
    return detail::surprise(name, logits, labels, [this](auto row, auto label, float top) {
        return wanted(row, label, top);
    });
}

SOTTO_DECL double cross_entropy::gradient(std::span<const float> logits,
                                          std::span<const std::int32_t> labels,
                                          std::span<float> out) const {
    check();
    const double of_label = 1.0 - label_smoothing;
    const double outputs =
        labels.empty() ? 1.0 : static_cast<double>(logits.size() / labels.size());
    return detail::surprise_gradient(
        name, logits, labels, out,
        [this](auto row, auto label, float top) { return wanted(row, label, top); },
        [of_label, spread = label_smoothing / outputs](std::size_t j, std::size_t label) {
            return (j == label ? of_label : 0.0) + spread;
        });
}

SOTTO_DECL void cross_entropy::check() const {
    require_option(name, "label_smoothing", label_smoothing,
                   detail::allowed::at_least(0.0).below(1.0));
}

SOTTO_DECL double cross_entropy::wanted(std::span<const float> row, std::size_t label,
                                        float top) const {
    double sum = (1.0 - label_smoothing) * (row[label] - top);
    if (label_smoothing > 0.0) {
        double all = 0.0;
        for (const float z : row) all += z - top;
        sum += label_smoothing * all / static_cast<double>(row.size());
    }
    return sum;
}

}  // namespace sotto
