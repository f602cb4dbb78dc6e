#pragma once

#include <cstddef>
#include <span>

#include "sotto/distillation/distillation_loss.hpp"

namespace sotto::detail {

/// The distribution softmax(z / temperature) of one row of logits. The largest logit is subtracted
/// first, so that no exponential overflows.
class softened {
public:
    softened(std::span<const float> logits, double temperature);

    double log(float logit) const noexcept { return relative(logit) - log_sum_; }
    /// Rounds to float like the targets, so that an equal student and teacher give equal bits.
    float operator()(float logit) const noexcept;

private:
    double relative(float logit) const noexcept;

    float top_;
    double scale_, log_sum_ = 0.0;
};

/// Adds share x softmax(teacher / temperature), row by row.
void add_softened(const char* where, std::span<const float> teacher, std::size_t outputs,
                  double temperature, double share, std::span<float> targets);

/// Returns the mean over the rows of of_row(logits, targets, index of the row's first logit).
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

/// Returns `weight` divided by the number of rows: the factor of each logit's gradient.
double weight_of_row(std::size_t logits, std::size_t outputs, double weight) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/softened.ipp"
#endif
