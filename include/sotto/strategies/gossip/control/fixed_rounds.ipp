#pragma once

#include "sotto/strategies/gossip/control/fixed_rounds.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL consensus_reading::measure no_control::state::needs(const round_info&) const noexcept {
    return consensus_reading::measure::nothing;
}

SOTTO_DECL consensus_reading::measure fixed_rounds::state::needs(const round_info&) const noexcept {
    return consensus_reading::measure::nothing;
}

SOTTO_DECL bool fixed_rounds::state::wants_another(const consensus_reading& now) const noexcept {
    return now.rounds < rounds;
}

SOTTO_DECL fixed_rounds::state fixed_rounds::bind() const {
    require_option("fixed_rounds", "rounds", rounds, detail::allowed::at_least(1));
    return {rounds};
}

}  // namespace sotto
