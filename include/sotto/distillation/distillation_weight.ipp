#pragma once

#include "sotto/distillation/distillation_weight.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL void check_weight(const char* policy, const double& weight) {
    require_option(policy, "weight", weight, allowed::at_least(0.0));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL double ramped_weight::at(std::int64_t step) const noexcept {
    return weight * (std::min)(1.0, (static_cast<double>(step) + 1.0) / static_cast<double>(steps));
}

SOTTO_DECL void ramped_weight::check() const {
    detail::check_weight("ramped_weight", weight);
    require_option("ramped_weight", "steps", steps, detail::allowed::at_least(1));
}

SOTTO_DECL double decayed_weight::at(std::int64_t step) const noexcept {
    return weight * std::exp2(-static_cast<double>(step) / static_cast<double>(half_life));
}

SOTTO_DECL void decayed_weight::check() const {
    detail::check_weight("decayed_weight", weight);
    require_option("decayed_weight", "half_life", half_life, detail::allowed::at_least(1));
}

}  // namespace sotto
