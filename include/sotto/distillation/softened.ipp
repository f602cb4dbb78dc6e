#pragma once

#include "sotto/distillation/softened.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL softened::softened(std::span<const float> logits, double temperature)
    : top_(logits.empty() ? 0.0f : *std::max_element(logits.begin(), logits.end())),
      scale_(1.0 / temperature) {
    double sum = 0.0;
    for (const float z : logits) sum += std::exp(relative(z));
    log_sum_ = std::log(sum);
}

SOTTO_DECL float softened::operator()(float logit) const noexcept {
    return static_cast<float>(std::exp(log(logit)));
}

SOTTO_DECL double softened::relative(float logit) const noexcept {
    return scale_ * (static_cast<double>(logit) - static_cast<double>(top_));
}

SOTTO_DECL void add_softened(const char* where, std::span<const float> teacher, std::size_t outputs,
                             double temperature, double share, std::span<float> targets) {
    checked_temperature(where, temperature);
    const std::size_t rows = checked_rows(where, teacher.size(), outputs, targets.size());
    for (std::size_t i = 0; i < rows; ++i) {
        const auto row = teacher.subspan(i * outputs, outputs);
        const auto to = targets.subspan(i * outputs, outputs);
        const softened p(row, temperature);
        for (std::size_t j = 0; j < outputs; ++j)
            to[j] += static_cast<float>(share * double{p(row[j])});
    }
}

SOTTO_DECL double weight_of_row(std::size_t logits, std::size_t outputs, double weight) noexcept {
    return logits == 0 ? 0.0 : weight * static_cast<double>(outputs) / static_cast<double>(logits);
}

}  // namespace sotto::detail
