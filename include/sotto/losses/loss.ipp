#pragma once

#include "sotto/losses/loss.hpp"

#include <string>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::size_t checked_outputs(const char* where, std::span<const float> logits,
                                       std::span<const std::int32_t> labels) {
    const std::size_t examples = labels.size();
    if (examples == 0 ? !logits.empty() : logits.size() % examples != 0)
        throw invalid_option(std::string(where) + ": " + std::to_string(logits.size()) +
                             " logits for " + std::to_string(examples) +
                             " labels; expected a multiple");
    const std::size_t outputs = examples == 0 ? 0 : logits.size() / examples;
    for (std::size_t i = 0; i < examples; ++i)
        if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= outputs)
            throw invalid_option(std::string(where) + ": example " + std::to_string(i) +
                                 " has label " + std::to_string(labels[i]) + "; expected 0 to " +
                                 std::to_string(outputs) + " exclusive, the number of outputs");
    return outputs;
}

SOTTO_DECL void check_gradient_size(const char* where, std::size_t logits, std::size_t out) {
    if (logits != out)
        throw invalid_option(std::string(where) + ": the gradient has " + std::to_string(out) +
                             " values; expected " + std::to_string(logits) +
                             ", one for each logit");
}

}  // namespace sotto::detail
