#pragma once

#include <cstddef>
#include <span>

#include "sotto/distillation/detail/covering.hpp"

namespace sotto {

/// Cross-entropy against the teachers' mean distribution: cross_entropy with a distribution as each
/// label. Its minimum is the entropy of the targets, where both agree. Its gradient equals that of
/// forward_kl.
///   math    p = softmax(z / T), q the mean over the teachers of softmax of their logits over T
///           loss = T^2 x mean of -sum q log p;  gradient = T (p - q) / rows
///   errors  invalid_option: a temperature that is not above 0; else as every distillation_loss
///   source  Anil et al. 2018, Large scale distributed neural network training through online
///           distillation, arXiv:1804.03235; T^2: Hinton et al. 2015, arXiv:1503.02531
struct soft_cross_entropy {
    double temperature = 1.0;  // T; a higher value gives unlikely outputs more weight

    void add(std::span<const float> teacher, std::size_t outputs, double share,
             std::span<float> targets) const;

    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const;

    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const;

    void describe(auto&& field) const { field("temperature", temperature); }

private:
    static constexpr const char* name = "soft_cross_entropy";

    detail::covering of_all() const;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/soft_cross_entropy.ipp"
#endif
