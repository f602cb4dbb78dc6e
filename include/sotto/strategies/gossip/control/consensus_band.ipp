#pragma once

#include "sotto/strategies/gossip/control/consensus_band.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL consensus_band::state::state(const consensus_band& options)
    : low_(options.low), high_(options.high), norm_(options.average), limit_(options.rounds_max) {
    require_option("consensus_band", "high", options.high, detail::allowed::above(0.0));
    require_option("consensus_band", "low", options.low,
                   detail::allowed::at_least(0.0).below(options.high), ", the band's upper end");
    detail::check_control("consensus_band", options.average, options.rounds_max);
}

SOTTO_DECL consensus_reading::measure consensus_band::state::needs(
    const round_info&) const noexcept {
    return consensus_reading::measure::estimate;
}

SOTTO_DECL bool consensus_band::state::wants_one(const round_info& where,
                                                 double learning_rate) const noexcept {
    const bool is_close = distance_ < low_ * learning_rate * norm_.value();
    return !(is_close && where.step == step_ + 1);
}

SOTTO_DECL bool consensus_band::state::wants_another(const consensus_reading& now) noexcept {
    norm_.add(now);
    if (now.rounds <= 1) largest_ = 0.0;
    largest_ = detail::is_nan(now.distance) ? unknown : (std::max)(largest_, now.distance);
    step_ = now.where.step;
    distance_ = now.rounds >= detail::period_of(now) ? largest_ : unknown;
    return limit_.wants_another(now, target(now));
}

SOTTO_DECL double consensus_band::state::target(const consensus_reading& now) const noexcept {
    return high_ * now.learning_rate * norm_.with(now);
}

}  // namespace sotto
