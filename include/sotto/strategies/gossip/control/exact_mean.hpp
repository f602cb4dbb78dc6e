#pragma once

#include "sotto/core/round_info.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto {

/// All ranks take their exact mean, in place of what a round with neighbours would give them: what
/// decentralized training is held against, in some of its phases by
/// `control_phases{no_control{}, 4.0, exact_mean{}}`.
///   math    x_i = 1/n sum over j of x_j: what one round on the complete graph does, bit for bit
///   wire    an all-reduce of what is mixed, each step
///   source  Kong et al. 2021, arXiv:2102.04828: experiments in which one phase is decentralized
struct exact_mean {
    static constexpr bool estimates = false;
    static constexpr bool takes_means = true;

    struct state {
        consensus_reading::measure needs(const round_info&) const noexcept;
        bool wants_another(const consensus_reading&) const noexcept { return false; }
        bool wants_mean(const round_info&) const noexcept { return true; }
    };
    state bind() const { return {}; }
    void describe(auto&&) const {}
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/exact_mean.ipp"
#endif
