#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/errors.hpp"

namespace sotto {

/// A loss of a model's logits and labels, and its gradient with respect to the logits.
///   value(logits, labels) -> double                the mean over the examples; 0 for no examples
///   gradient(logits, labels, out) -> double        the same, and writes d mean / d logits to `out`
///   shape   logits and out: examples x outputs, row-major;  labels: one per example, in
///           0..outputs-1
///   errors  both throw invalid_option: invalid options (even without examples), spans of the wrong
///           size, a label outside 0..outputs-1
template <class L>
concept loss = std::copy_constructible<L> &&
    requires(const L& options, std::span<const float> logits, std::span<const std::int32_t> labels,
             std::span<float> out) {
    { options.value(logits, labels) } -> std::same_as<double>;
    { options.gradient(logits, labels, out) } -> std::same_as<double>;
};

}  // namespace sotto

namespace sotto::detail {

/// Checks all sizes and labels and returns the number of outputs per example.
std::size_t checked_outputs(const char* where, std::span<const float> logits,
                            std::span<const std::int32_t> labels);

void check_gradient_size(const char* where, std::size_t logits, std::size_t out);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/losses/loss.ipp"
#endif
