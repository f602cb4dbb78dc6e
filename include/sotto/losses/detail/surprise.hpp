#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/losses/loss.hpp"

namespace sotto::detail {

/// Returns the mean over the examples of -sum t log p, with p = softmax(z) and targets t that sum
/// to 1.
///   math    log(sum exp z) - sum t z, both relative to the largest logit, so that no exponential
///           overflows. wanted(row, label, top) is sum t (z - top)
template <class Wanted>
double surprise(const char* where, std::span<const float> logits,
                std::span<const std::int32_t> labels, Wanted wanted) {
    const std::size_t outputs = checked_outputs(where, logits, labels);
    double total = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto row = logits.subspan(i * outputs, outputs);
        const float top = *std::max_element(row.begin(), row.end());
        double sum = 0.0;
        for (const float z : row) sum += std::exp(z - top);
        total += std::log(sum) - wanted(row, static_cast<std::size_t>(labels[i]), top);
    }
    return labels.empty() ? 0.0 : total / static_cast<double>(labels.size());
}

/// Returns the same value and writes its gradient (p - t) / examples. target(j, label) is t.
template <class Wanted, class Target>
double surprise_gradient(const char* where, std::span<const float> logits,
                         std::span<const std::int32_t> labels, std::span<float> out, Wanted wanted,
                         Target target) {
    const std::size_t outputs = checked_outputs(where, logits, labels);
    check_gradient_size(where, logits.size(), out.size());
    const double examples = static_cast<double>(labels.size());
    double total = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto row = logits.subspan(i * outputs, outputs);
        const auto to = out.subspan(i * outputs, outputs);
        const float top = *std::max_element(row.begin(), row.end());
        double sum = 0.0;
        for (std::size_t j = 0; j < outputs; ++j) sum += to[j] = std::exp(row[j] - top);
        const auto label = static_cast<std::size_t>(labels[i]);
        total += std::log(sum) - wanted(row, label, top);
        for (std::size_t j = 0; j < outputs; ++j)
            to[j] = static_cast<float>((to[j] / sum - target(j, label)) / examples);
    }
    return labels.empty() ? 0.0 : total / examples;
}

}  // namespace sotto::detail
