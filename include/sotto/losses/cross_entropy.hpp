#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/losses/detail/surprise.hpp"

namespace sotto {

/// How surprised the model is by the labels.
///   math    p = softmax(z);  target t = (1 - s) onehot(y) + s / c, s the smoothing, c the outputs
///           loss = mean of -sum t log p = log(sum exp z) - sum t z
///           gradient = (p - t) / examples
///           The largest logit is subtracted first, so that no exponential overflows.
///   errors  invalid_option: smoothing outside [0, 1); else as every loss
///   source  smoothing: Szegedy et al. 2016, Rethinking the Inception architecture,
///           arXiv:1512.00567
struct cross_entropy {
    double label_smoothing =
        0.0;  // in [0, 1): the part of each target spread evenly over all outputs

    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const {
        check();
        return detail::surprise(name, logits, labels, [this](auto row, auto label, float top) {
            return wanted(row, label, top);
        });
    }

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const {
        check();
        const double of_label = 1.0 - label_smoothing;
        const double outputs =
            labels.empty() ? 1.0 : static_cast<double>(logits.size() / labels.size());
        return detail::surprise_gradient(
            name, logits, labels, out,
            [this](auto row, auto label, float top) { return wanted(row, label, top); },
            [of_label, spread = label_smoothing / outputs](std::size_t j, std::size_t label) {
                return (j == label ? of_label : 0.0) + spread;
            });
    }

    void describe(auto&& field) const { field("label_smoothing", label_smoothing); }

private:
    static constexpr const char* name = "cross_entropy";

    void check() const {
        require_option(name, "label_smoothing", label_smoothing,
                       detail::allowed::at_least(0.0).below(1.0));
    }

    // sum t (z - top)
    double wanted(std::span<const float> row, std::size_t label, float top) const {
        double sum = (1.0 - label_smoothing) * (row[label] - top);
        if (label_smoothing > 0.0) {
            double all = 0.0;
            for (const float z : row) all += z - top;
            sum += label_smoothing * all / static_cast<double>(row.size());
        }
        return sum;
    }
};

}  // namespace sotto
