#pragma once

#include "sotto/distillation/squared_logit_error.hpp"

#include "sotto/core/config.hpp"
#include "sotto/distillation/softened.hpp"

namespace sotto {

SOTTO_DECL void squared_logit_error::add(std::span<const float> teacher, std::size_t outputs,
                                         double share, std::span<float> targets) const {
    detail::checked_rows(name, teacher.size(), outputs, targets.size());
    for (std::size_t i = 0; i < teacher.size(); ++i)
        targets[i] += static_cast<float>(share * double{teacher[i]});
}

SOTTO_DECL double squared_logit_error::value(std::span<const float> logits, std::size_t outputs,
                                             std::span<const float> targets) const {
    return detail::mean_over_rows(name, logits, outputs, targets,
                                  [](auto row, auto wanted, std::size_t) {
                                      double sum = 0.0;
                                      for (std::size_t j = 0; j < row.size(); ++j) {
                                          const double off = double{row[j]} - double{wanted[j]};
                                          sum += off * off;
                                      }
                                      return sum;
                                  });
}

SOTTO_DECL double squared_logit_error::gradient(std::span<const float> logits, std::size_t outputs,
                                                std::span<const float> targets, double weight,
                                                std::span<float> out) const {
    detail::checked_rows(name, logits.size(), outputs, out.size());
    const double found = value(logits, outputs, targets);
    const double step = 2.0 * detail::weight_of_row(logits.size(), outputs, weight);
    for (std::size_t i = 0; i < logits.size(); ++i)
        out[i] += static_cast<float>(step * (double{logits[i]} - double{targets[i]}));
    return found;
}

}  // namespace sotto
