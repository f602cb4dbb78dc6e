#pragma once

#include <cstddef>
#include <span>

#include "sotto/distillation/softened.hpp"

namespace sotto::detail {

/// Losses of the form T^2 x mean of sum q (c(q) - log p). They push the student to cover all
/// outputs that q finds likely. c(q) = 0 gives the cross-entropy, c(q) = log q the divergence. q
/// does not depend on the student, so both have the same gradient. It is exactly 0 if teacher and
/// student agree.
class covering {
public:
    covering(const char* where, double temperature, double (*c)(double))
        : where_(where), t_(checked_temperature(where, temperature)), c_(c) {}

    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const;

    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const;

private:
    double of_row(const softened& p, std::span<const float> row, std::span<const float> q) const;

    const char* where_;
    double t_;
    double (*c_)(double);
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/detail/covering.ipp"
#endif
