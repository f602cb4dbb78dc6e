#pragma once

#include "sotto/strategies/gossip/control/fraction_of_maximum.hpp"

#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL fraction_of_maximum::state::state(const fraction_of_maximum& options)
    : options_(options), limit_(options.rounds_max, consensus_reading::measure::exact) {
    require_option("fraction_of_maximum", "fraction", options.fraction,
                   detail::allowed::above(0.0));
    require_option("fraction_of_maximum", "rounds_max", options.rounds_max,
                   detail::allowed::at_least(1));
    for (const detail::recorded_maximum& m : options.maxima) {
        require_option("fraction_of_maximum", "from_epoch of one of the maxima", m.from_epoch,
                       detail::allowed::at_least(0.0));
        require_option("fraction_of_maximum", "distance of one of the maxima", m.distance,
                       detail::allowed::at_least(0.0));
    }
    if (options.maxima.empty() || options.maxima.front().from_epoch != 0.0)
        throw invalid_option(
            "fraction_of_maximum: maxima has no distance from epoch 0 on; record them by an "
            "uncontrolled run");
    for (std::size_t i = 1; i < options.maxima.size(); ++i)
        if (options.maxima[i].from_epoch <= options.maxima[i - 1].from_epoch)
            throw invalid_option(
                "fraction_of_maximum: one of the maxima is from epoch " +
                std::to_string(options.maxima[i].from_epoch) + ", the one before it from epoch " +
                std::to_string(options.maxima[i - 1].from_epoch) + "; epochs must ascend");
}

SOTTO_DECL consensus_reading::measure fraction_of_maximum::state::needs(
    const round_info&) const noexcept {
    return consensus_reading::measure::exact;
}

SOTTO_DECL bool fraction_of_maximum::state::wants_another(const consensus_reading& now) noexcept {
    return limit_.wants_another(now, target(now));
}

SOTTO_DECL double fraction_of_maximum::state::target(const consensus_reading& now) const noexcept {
    double maximum = 0.0;
    for (const detail::recorded_maximum& m : options_.maxima)
        if (now.where.epoch >= m.from_epoch) maximum = m.distance;
    return options_.fraction * maximum;
}

}  // namespace sotto
