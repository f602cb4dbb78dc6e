#pragma once

#include "sotto/strategies/gossip/control/exact_mean.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL consensus_reading::measure exact_mean::state::needs(const round_info&) const noexcept {
    return consensus_reading::measure::nothing;
}

}  // namespace sotto
