#pragma once

#include "sotto/distillation/detail/covering.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL double covering::value(std::span<const float> logits, std::size_t outputs,
                                  std::span<const float> targets) const {
    return t_ * t_ *
           mean_over_rows(where_, logits, outputs, targets, [&](auto row, auto q, std::size_t) {
               return of_row(softened(row, t_), row, q);
           });
}

SOTTO_DECL double covering::gradient(std::span<const float> logits, std::size_t outputs,
                                     std::span<const float> targets, double weight,
                                     std::span<float> out) const {
    checked_rows(where_, logits.size(), outputs, out.size());
    const double step = t_ * weight_of_row(logits.size(), outputs, weight);
    return t_ * t_ *
           mean_over_rows(where_, logits, outputs, targets,
                          [&](auto row, auto q, std::size_t first) {
                              const softened p(row, t_);
                              for (std::size_t j = 0; j < outputs; ++j)
                                  out[first + j] +=
                                      static_cast<float>(step * (double{p(row[j])} - double{q[j]}));
                              return of_row(p, row, q);
                          });
}

SOTTO_DECL double covering::of_row(const softened& p, std::span<const float> row,
                                   std::span<const float> q) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j)
        if (q[j] > 0.0f) sum += double{q[j]} * (c_(double{q[j]}) - p.log(row[j]));
    return sum;
}

}  // namespace sotto::detail
