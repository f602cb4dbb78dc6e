#pragma once

#include "sotto/strategies/gossip/control/exact_consensus_control.hpp"

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL exact_consensus_control::state exact_consensus_control::bind() const {
    return state({.rho = rho, .average = average, .rounds_max = rounds_max},
                 "exact_consensus_control", consensus_reading::measure::exact);
}

}  // namespace sotto
