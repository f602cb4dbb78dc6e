#pragma once

#include "sotto/losses/squared_error.hpp"

#include "sotto/core/config.hpp"
#include "sotto/losses/loss.hpp"

namespace sotto {

SOTTO_DECL double squared_error::value(std::span<const float> logits,
                                       std::span<const std::int32_t> labels) const {
    const std::size_t outputs = detail::checked_outputs("squared_error", logits, labels);
    return mean_over(logits, labels, outputs, [](std::size_t, double) {});
}

SOTTO_DECL double squared_error::gradient(std::span<const float> logits,
                                          std::span<const std::int32_t> labels,
                                          std::span<float> out) const {
    const std::size_t outputs = detail::checked_outputs("squared_error", logits, labels);
    detail::check_gradient_size("squared_error", logits.size(), out.size());
    const double examples = static_cast<double>(labels.size());
    return mean_over(logits, labels, outputs, [&](std::size_t at, double difference) {
        out[at] = static_cast<float>(difference / examples);
    });
}

}  // namespace sotto
