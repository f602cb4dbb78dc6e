#pragma once

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// How far the student's logits are from the mean of the teachers'. That mean stands for the
/// geometric mean of their distributions, and asks also for what softmax forgets, a constant in
/// each row. It pulls the harder the further off the student is, without a bound: with a weight of
/// 1 and momentum a rate that is good for the labels alone may be too large; 0.1 is a weight to
/// begin with.
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
