#pragma once

#include <cstddef>
#include <span>

#include "sotto/distillation/softened.hpp"

namespace sotto::detail {

/// T^2 x mean of sum q (c(q) - log p), which a student makes small by covering what q thinks
/// possible: with c(q) = 0 the cross-entropy, with log q the divergence. q does not depend on the
/// student, so that both have the same gradient: exactly 0 for a teacher that says the same.
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
