#pragma once

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto {

/// consensus_control by the exact distance in place of its estimate: what the estimate is held
/// against, in studies.
///   math    another round while Xi > rho * rate * phi, with phi as in consensus_control. Xi is of
///           what the last round left, Theta of what it found: by the same rho it is one round less
///   wire    three numbers and the parameters summed over all ranks for each round
///   errors  as consensus_control
struct exact_consensus_control {
    double rho = 0.25;     // of the target
    double average = 0.9;  // what the running mean phi keeps a step
    int rounds_max = 64;   // of mixing in a step, at most

    static constexpr bool measures_exactly = true;
    static constexpr bool estimates = false;
    static constexpr bool needs_rate = true;
    using state = consensus_control::state;
    state bind() const;
    void describe(auto&& field) const {
        field("rho", rho);
        field("average", average);
        field("rounds_max", rounds_max);
    }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/exact_consensus_control.ipp"
#endif
