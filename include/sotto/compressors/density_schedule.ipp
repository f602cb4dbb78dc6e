#pragma once

#include "sotto/compressors/density_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL void check_epochs(const char* policy, const double& epochs) {
    require_option(policy, "epochs", epochs, allowed::at_least(0.0));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL double warm_up::density(double epoch, double target) const noexcept {
    constexpr std::array stages{1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256};
    if (!(epoch < epochs)) return target;
    const auto stage = static_cast<std::size_t>(epoch / epochs * stages.size());
    return (std::max)(stages[(std::min)(stage, stages.size() - 1)], target);
}

SOTTO_DECL double exponential_warm_up::density(double epoch, double target) const noexcept {
    if (!(epoch < epochs)) return target;
    return (std::max)(std::pow(target, (std::floor(epoch) + 1.0) / (epochs + 1.0)), target);
}

}  // namespace sotto
