#pragma once

#include "sotto/distillation/reverse_kl.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL void reverse_kl::add(std::span<const float> teacher, std::size_t outputs, double share,
                                std::span<float> targets) const {
    detail::add_softened(name, teacher, outputs, temperature, share, targets);
}

SOTTO_DECL double reverse_kl::value(std::span<const float> logits, std::size_t outputs,
                                    std::span<const float> targets) const {
    const double t = checked();
    return t * t *
           detail::mean_over_rows(name, logits, outputs, targets,
                                  [&](auto row, auto q, std::size_t) {
                                      return of_row(detail::softened(row, t), row, q);
                                  });
}

SOTTO_DECL double reverse_kl::gradient(std::span<const float> logits, std::size_t outputs,
                                       std::span<const float> targets, double weight,
                                       std::span<float> out) const {
    const double t = checked();
    detail::checked_rows(name, logits.size(), outputs, out.size());
    const double step = t * detail::weight_of_row(logits.size(), outputs, weight);
    return t * t *
           detail::mean_over_rows(
               name, logits, outputs, targets, [&](auto row, auto q, std::size_t first) {
                   const detail::softened p(row, t);
                   const double k = of_row(p, row, q);
                   for (std::size_t j = 0; j < outputs; ++j) {
                       const double log_p = p.log(row[j]);
                       out[first + j] += static_cast<float>(step * std::exp(log_p) *
                                                            (log_p - log_target(q[j]) - k));
                   }
                   return k;
               });
}

SOTTO_DECL double reverse_kl::checked() const {
    require_option(name, "floor", floor, detail::allowed::above(0.0).below(1.0));
    return detail::checked_temperature(name, temperature);
}

SOTTO_DECL double reverse_kl::of_row(const detail::softened& p, std::span<const float> row,
                                     std::span<const float> q) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) {
        const double log_p = p.log(row[j]);
        sum += std::exp(log_p) * (log_p - log_target(q[j]));
    }
    return sum;
}

}  // namespace sotto
