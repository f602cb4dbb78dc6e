#pragma once

#include <cstddef>
#include <span>

#include "sotto/distillation/detail/covering.hpp"

namespace sotto {

/// KL(q || p), the divergence of the student from the teachers' mean distribution. The student
/// learns to cover every output that the teachers find likely. 0 if both agree.
///   math    p = softmax(z / T), q the mean over the teachers of softmax of their logits over T
///           loss = T^2 x mean of sum q (log q - log p);  gradient = T (p - q) / rows
///   errors  invalid_option: a temperature that is not above 0; else as every distillation_loss
///   source  Hinton et al. 2015, Distilling the knowledge in a neural network, arXiv:1503.02531,
///           including T^2; Anil et al. 2018, arXiv:1804.03235
struct forward_kl {
    double temperature = 1.0;  // T; a higher value gives unlikely outputs more weight

    void add(std::span<const float> teacher, std::size_t outputs, double share,
             std::span<float> targets) const;

    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const;

    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const;

    void describe(auto&& field) const { field("temperature", temperature); }

private:
    static constexpr const char* name = "forward_kl";

    detail::covering of_all() const;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/forward_kl.ipp"
#endif
