#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "sotto/core/errors.hpp"

namespace sotto {

/// A loss between a student's logits and its teachers' predictions. Teachers are first summed into
/// targets, so each teacher costs one pass. Teachers receive no gradient.
///   add(teacher, outputs, share, targets)   adds share x the target of a teacher's logits
///   value(logits, outputs, targets) -> double                the mean over the rows; 0 for none
///   gradient(logits, outputs, targets, weight, out) -> double
///       the same, and adds weight x d mean / d logits to `out`, which already holds the labels'
///       gradient
///   shape   logits, targets, out: rows x outputs, row-major. A row is an example or a position of
///           a sequence and has its own target. The shares of all teachers sum to 1
///   errors  invalid_option: invalid options, spans of the wrong size
template <class L>
concept distillation_loss = std::copy_constructible<L> &&
    requires(const L& options, std::span<const float> logits, std::size_t outputs, double share,
             std::span<float> out) {
    options.add(logits, outputs, share, out);
    { options.value(logits, outputs, logits) } -> std::same_as<double>;
    { options.gradient(logits, outputs, logits, share, out) } -> std::same_as<double>;
};

}  // namespace sotto

namespace sotto::detail {

/// Checks all sizes and returns the number of rows.
std::size_t checked_rows(const char* where, std::size_t logits, std::size_t outputs,
                         std::size_t targets);

double checked_temperature(const char* where, const double& temperature);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/distillation_loss.ipp"
#endif
