#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "sotto/core/errors.hpp"

namespace sotto {

/// How far a student's logits are from what its teachers say. Teachers are summed into targets
/// first, so that any number of them costs one pass more each; no gradient reaches them.
///   add(teacher, outputs, share, targets)   adds share x what a teacher's logits mean as a target
///   value(logits, outputs, targets) -> double                the mean over the rows; 0 for none
///   gradient(logits, outputs, targets, weight, out) -> double
///       the same, and adds weight x d mean / d logits to `out`, beside the labels' gradient there
///   shape   logits, targets, out: rows x outputs, row-major. A row is an example, or a position of
///           a sequence: each has a target of its own. Shares of all teachers sum to 1
///   errors  invalid_option: options that cannot work, spans whose sizes do not fit
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

/// Rows of so many outputs, after every size has been checked.
std::size_t checked_rows(const char* where, std::size_t logits, std::size_t outputs,
                         std::size_t targets);

double checked_temperature(const char* where, const double& temperature);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/distillation/distillation_loss.ipp"
#endif
