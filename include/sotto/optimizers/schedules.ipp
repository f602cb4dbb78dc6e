#pragma once

#include "sotto/optimizers/schedules.hpp"

#include <cmath>
#include <numbers>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL double step_decay::factor(const round_info& where) const noexcept {
    return std::pow(factor_per_step, std::floor(where.epoch / every_epochs));
}

SOTTO_DECL void step_decay::check() const {
    require_option("step_decay", "every_epochs", every_epochs, detail::allowed::above(0.0));
    require_option("step_decay", "factor_per_step", factor_per_step,
                   detail::allowed::at_least(0.0));
}

SOTTO_DECL double cosine::factor(const round_info& where) const noexcept {
    const double progress = where.epoch < epochs ? where.epoch / epochs : 1.0;
    return final_factor +
           (1.0 - final_factor) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

SOTTO_DECL void cosine::check() const {
    require_option("cosine", "epochs", epochs, detail::allowed::above(0.0));
    require_option("cosine", "final_factor", final_factor, detail::allowed::at_least(0.0));
}

SOTTO_DECL double rate_warm_up::factor(const round_info& where) const noexcept {
    if (!(where.epoch < epochs)) return 1.0;
    return initial_factor + (1.0 - initial_factor) * where.epoch / epochs;
}

SOTTO_DECL void rate_warm_up::check() const {
    require_option("rate_warm_up", "epochs", epochs, detail::allowed::at_least(0.0));
    require_option("rate_warm_up", "initial_factor", initial_factor,
                   detail::allowed::at_least(0.0));
}

}  // namespace sotto
