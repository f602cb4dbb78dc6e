#pragma once

#include "sotto/strategies/gossip/control/consensus_control.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL double norm_average::with(const consensus_reading& now) const noexcept {
    if (begun_ == 0) return now.gradient_norm;
    if (now.where.step == step_) return mean_;
    return keep_ * mean_ + (1.0 - keep_) * now.gradient_norm;
}

SOTTO_DECL void norm_average::add(const consensus_reading& now) noexcept {
    mean_ = with(now);
    step_ = now.where.step;
    begun_ = 1;
}

SOTTO_DECL void check_control(const char* policy, const double& average, int rounds_max) {
    require_option(policy, "average", average, allowed::at_least(0.0).below(1.0));
    require_option(policy, "rounds_max", rounds_max, allowed::at_least(1));
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL consensus_control::state::state(const consensus_control& options, const char* policy,
                                           consensus_reading::measure measured)
    : rho_(options.rho),
      scaled_by_gap_(options.scaled_by_gap),
      norm_(options.average),
      measured_(measured),
      limit_(options.rounds_max, measured) {
    require_option(policy, "rho", options.rho, detail::allowed::above(0.0));
    detail::check_control(policy, options.average, options.rounds_max);
}

SOTTO_DECL bool consensus_control::state::wants_another(const consensus_reading& now) noexcept {
    norm_.add(now);
    return limit_.wants_another(now, target(now));
}

SOTTO_DECL double consensus_control::state::target(const consensus_reading& now) const noexcept {
    const double below = rho_ * now.learning_rate * norm_.with(now);
    return scaled_by_gap_ ? detail::gap_of(now) * below : below;
}

}  // namespace sotto
