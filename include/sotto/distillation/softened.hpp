#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "sotto/distillation/distillation_loss.hpp"

namespace sotto::detail {

/// The distribution softmax(z / temperature) of one row of logits. The largest is subtracted first,
/// so that no exponential overflows.
class softened {
public:
    softened(std::span<const float> logits, double temperature)
        : top_(logits.empty() ? 0.0f : *std::max_element(logits.begin(), logits.end())),
          scale_(1.0 / temperature) {
        double sum = 0.0;
        for (const float z : logits) sum += std::exp(relative(z));
        log_sum_ = std::log(sum);
    }

    double log(float logit) const noexcept { return relative(logit) - log_sum_; }
    /// Rounded as targets are, so that a student and a teacher that say the same have equal bits.
    float operator()(float logit) const noexcept {
        return static_cast<float>(std::exp(log(logit)));
    }

private:
    double relative(float logit) const noexcept {
        return scale_ * (static_cast<double>(logit) - static_cast<double>(top_));
    }

    float top_;
    double scale_, log_sum_ = 0.0;
};

/// Adds share x softmax(teacher / temperature), row by row.
inline void add_softened(const char* where, std::span<const float> teacher, std::size_t outputs,
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

/// The mean over the rows of of_row(logits, targets, place of the row's first logit).
template <class OfRow>
double mean_over_rows(const char* where, std::span<const float> logits, std::size_t outputs,
                      std::span<const float> targets, OfRow of_row) {
    const std::size_t rows = checked_rows(where, logits.size(), outputs, targets.size());
    double total = 0.0;
    for (std::size_t i = 0; i < rows; ++i)
        total += of_row(logits.subspan(i * outputs, outputs), targets.subspan(i * outputs, outputs),
                        i * outputs);
    return rows == 0 ? 0.0 : total / static_cast<double>(rows);
}

/// What is added to the gradient of each logit is `weight` over the number of rows, times it.
inline double weight_of_row(std::size_t logits, std::size_t outputs, double weight) noexcept {
    return logits == 0 ? 0.0 : weight * static_cast<double>(outputs) / static_cast<double>(logits);
}

}  // namespace sotto::detail
