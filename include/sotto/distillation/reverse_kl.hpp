#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "sotto/distillation/softened.hpp"

namespace sotto {

/// KL(p || q), the divergence of the teachers' mean distribution from the student's. The student
/// may cover only some of the teachers' outputs, but is pushed away from outputs that they find
/// impossible.
///   math    p = softmax(z / T), q the mean over the teachers of softmax of their logits over T,
///           but at least `floor`;  k = sum p (log p - log q)
///           loss = T^2 x mean of k;  gradient = T p (log p - log q - k) / rows
///           For a teacher equal to the student the gradient is not exactly 0 but about T
///           (2^-24 + floor) / rows, because q is a float and at least `floor`. Exactly 0 would
///           need another logarithm
///   errors  invalid_option: a temperature that is not above 0, a floor outside (0, 1); else as
///           every distillation_loss
///   source  the divergence of Zhang et al. 2018, Deep mutual learning, arXiv:1706.00384, from the
///           student's side
struct reverse_kl {
    double temperature = 1.0;  // T; a higher value gives unlikely outputs more weight
    double floor = 1e-6;       // least q; with q = 0 the loss is infinite

    void add(std::span<const float> teacher, std::size_t outputs, double share,
             std::span<float> targets) const;

    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const;

    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const;

    void describe(auto&& field) const {
        field("temperature", temperature);
        field("floor", floor);
    }

private:
    static constexpr const char* name = "reverse_kl";

    double checked() const;

    double log_target(float q) const { return std::log((std::max)(double{q}, floor)); }

    double of_row(const detail::softened& p, std::span<const float> row,
                  std::span<const float> q) const;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/reverse_kl.ipp"
#endif
