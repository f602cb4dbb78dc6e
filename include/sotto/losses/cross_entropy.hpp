#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// Cross-entropy of the softmax of the logits against the labels.
///   math    p = softmax(z);  target t = (1 - s) onehot(y) + s / c, s the smoothing, c the outputs
///           loss = mean of -sum t log p = log(sum exp z) - sum t z
///           gradient = (p - t) / examples
///           The largest logit is subtracted first, so that no exponential overflows
///   errors  invalid_option: smoothing outside [0, 1); else as every loss
///   source  smoothing: Szegedy et al. 2016, Rethinking the Inception architecture,
///           arXiv:1512.00567
struct cross_entropy {
    double label_smoothing = 0.0;  // in [0, 1): part of each target spread over all outputs

    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const;

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const;

    void describe(auto&& field) const { field("label_smoothing", label_smoothing); }

private:
    static constexpr const char* name = "cross_entropy";

    void check() const;

    // sum t (z - top)
    double wanted(std::span<const float> row, std::size_t label, float top) const;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/losses/cross_entropy.ipp"
#endif
