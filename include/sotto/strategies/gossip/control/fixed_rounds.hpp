#pragma once

#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto {

/// One round of mixing a step, whatever comes of it.
struct no_control {
    static constexpr bool estimates = false;
    struct state {
        consensus_reading::measure needs(const round_info&) const noexcept;
        bool wants_another(const consensus_reading&) const noexcept { return false; }
    };
    state bind() const { return {}; }
    void describe(auto&&) const {}
};

/// The same number of rounds every step.
///   errors  invalid_option: rounds below 1
struct fixed_rounds {
    int rounds = 1;  // of mixing, in every step

    static constexpr bool estimates = false;
    struct state {
        int rounds;  // as in the options
        consensus_reading::measure needs(const round_info&) const noexcept;
        bool wants_another(const consensus_reading& now) const noexcept;
        void visit(auto&&) const noexcept {}
    };
    state bind() const;
    void describe(auto&& field) const { field("rounds", rounds); }
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/fixed_rounds.ipp"
#endif
