#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/losses/loss.hpp"

namespace sotto {

/// How surprised the model is by the labels.
///   math    p = softmax(z);  target t = (1 - s) onehot(y) + s / c, s the smoothing, c the outputs
///           loss = mean of -sum t log p = log(sum exp z) - sum t z
///           gradient = (p - t) / examples
///           The largest logit is subtracted first, so that no exponential overflows.
///   errors  invalid_option: smoothing outside [0, 1); else as every loss
///   source  smoothing: Szegedy et al. 2016, Rethinking the Inception architecture,
///           arXiv:1512.00567
struct cross_entropy {
    double label_smoothing =
        0.0;  // in [0, 1): the part of each target spread evenly over all outputs

    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const {
        const std::size_t outputs = check(logits, labels);
        double total = 0.0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto row = logits.subspan(i * outputs, outputs);
            const float top = *std::max_element(row.begin(), row.end());
            double sum = 0.0;
            for (const float z : row) sum += std::exp(z - top);
            total += surprise(row, labels[i], top, sum);
        }
        return mean(total, labels.size());
    }

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const {
        const std::size_t outputs = check(logits, labels);
        detail::check_gradient_size("cross_entropy", logits.size(), out.size());
        const double examples = static_cast<double>(labels.size());
        const double spread =
            label_smoothing / static_cast<double>(std::max<std::size_t>(outputs, 1));
        double total = 0.0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto row = logits.subspan(i * outputs, outputs);
            const auto to = out.subspan(i * outputs, outputs);
            const float top = *std::max_element(row.begin(), row.end());
            double sum = 0.0;
            for (std::size_t j = 0; j < outputs; ++j) sum += to[j] = std::exp(row[j] - top);
            total += surprise(row, labels[i], top, sum);
            const auto label = static_cast<std::size_t>(labels[i]);
            for (std::size_t j = 0; j < outputs; ++j) {
                const double target = (j == label ? 1.0 - label_smoothing : 0.0) + spread;
                to[j] = static_cast<float>((to[j] / sum - target) / examples);
            }
        }
        return mean(total, labels.size());
    }

    void describe(auto&& field) const { field("label_smoothing", label_smoothing); }

private:
    std::size_t check(std::span<const float> logits, std::span<const std::int32_t> labels) const {
        if (!(label_smoothing >= 0.0 && label_smoothing < 1.0))
            throw invalid_option("cross_entropy: label_smoothing is " +
                                 std::to_string(label_smoothing) +
                                 "; expected at least 0 and below 1");
        return detail::checked_outputs("cross_entropy", logits, labels);
    }

    // -sum t log p with everything relative to the largest logit: log(sum) - sum t (z - top).
    double surprise(std::span<const float> row, std::int32_t label, float top, double sum) const {
        double wanted = (1.0 - label_smoothing) * (row[static_cast<std::size_t>(label)] - top);
        if (label_smoothing > 0.0) {
            double all = 0.0;
            for (const float z : row) all += z - top;
            wanted += label_smoothing * all / static_cast<double>(row.size());
        }
        return std::log(sum) - wanted;
    }

    static double mean(double total, std::size_t examples) {
        return examples == 0 ? 0.0 : total / static_cast<double>(examples);
    }
};

}  // namespace sotto
