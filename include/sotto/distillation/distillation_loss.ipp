#pragma once

#include "sotto/distillation/distillation_loss.hpp"

#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL std::size_t checked_rows(const char* where, std::size_t logits, std::size_t outputs,
                                    std::size_t targets) {
    if (outputs == 0 ? logits != 0 : logits % outputs != 0)
        throw invalid_option(std::string(where) + ": " + std::to_string(logits) +
                             " logits in rows of " + std::to_string(outputs) +
                             "; expected a multiple");
    if (targets != logits)
        throw invalid_option(std::string(where) + ": " + std::to_string(targets) +
                             " targets; expected " + std::to_string(logits) +
                             ", one for each logit");
    return outputs == 0 ? 0 : logits / outputs;
}

SOTTO_DECL double checked_temperature(const char* where, const double& temperature) {
    require_option(where, "temperature", temperature, allowed::above(0.0));
    return temperature;
}

}  // namespace sotto::detail
