#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// Squared distance between the student's logits and the mean of the teachers' logits. That mean
/// corresponds to the geometric mean of their distributions. It also fixes the constant in each row
/// that softmax ignores. The gradient grows without bound with the distance. With weight 1 and
/// momentum, a learning rate that suits the labels alone may be too large; start with weight 0.1.
///   math    loss = mean of |z - mean of the teachers' z|^2;  gradient = 2 (z - mean) / rows
///   errors  as every distillation_loss
///   source  Ba & Caruana 2014, Do deep nets really need to be deep?, arXiv:1312.6184
struct squared_logit_error {
    void add(std::span<const float> teacher, std::size_t outputs, double share,
             std::span<float> targets) const;

    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const;

    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const;

    void describe(auto&&) const {}

private:
    static constexpr const char* name = "squared_logit_error";
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/squared_logit_error.ipp"
#endif
