#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "sotto/distillation/softened.hpp"

namespace sotto {

/// What the student thinks possible and the teachers do not: it may keep to some of what they know,
/// and is drawn away from all that they rule out.
///   math    p = softmax(z / T), q the mean over the teachers of softmax of their logits over T,
///           but at least `floor`;  k = sum p (log p - log q)
///           loss = T^2 x mean of k;  gradient = T p (log p - log q - k) / rows
///           Of a teacher that says the same it is not exactly 0 but some T (2^-24 + floor) / rows,
///           since q is a float and never below the floor: exactly 0 would take a logarithm more
///   errors  invalid_option: a temperature that is not above 0, a floor outside (0, 1); else as
///           every distillation_loss
///   source  the divergence of Zhang et al. 2018, Deep mutual learning, arXiv:1706.00384, read from
///           the student's side
struct reverse_kl {
    double temperature = 1.0;  // T: the higher, the more unlikely outputs count
    double floor = 1e-6;       // what a teacher rules out altogether would count infinitely

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
