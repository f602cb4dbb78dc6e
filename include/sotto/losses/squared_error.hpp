#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto {

/// Half the squared distance between the outputs and the label's one-hot vector.
///   math    loss = mean of 1/2 sum (z - onehot(y))^2;   gradient (z - onehot(y)) / examples
///   errors  as every loss
struct squared_error {
    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const;

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const;

    void describe(auto&&) const {}

private:
    static double mean_over(std::span<const float> logits, std::span<const std::int32_t> labels,
                            std::size_t outputs, auto&& see) {
        double total = 0.0;
        for (std::size_t i = 0; i < labels.size(); ++i)
            for (std::size_t j = 0; j < outputs; ++j) {
                const double target = j == static_cast<std::size_t>(labels[i]) ? 1.0 : 0.0;
                const double difference = logits[i * outputs + j] - target;
                total += 0.5 * difference * difference;
                see(i * outputs + j, difference);
            }
        return labels.empty() ? 0.0 : total / static_cast<double>(labels.size());
    }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/losses/squared_error.ipp"
#endif
