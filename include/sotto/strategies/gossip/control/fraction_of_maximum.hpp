#pragma once

#include <string>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto::detail {

/// The distance that an uncontrolled run had in a phase of training, once the phase had settled:
/// the maximum that controllers keep below parts of.
struct recorded_maximum {
    double from_epoch = 0.0;  // where the phase begins; passes over the data
    double distance = 0.0;    // xi_max of the phase

    friend bool operator==(const recorded_maximum&, const recorded_maximum&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// Keeps the distance below a fraction of what an uncontrolled run had in the same phase, Xi_max of
/// the paper and its experiments.
///   math    another round while Xi > fraction * maximum of the phase
///   shape   maxima: ascending by from_epoch, the first from 0; see consensus_maxima, which reads
///           them from a run's log
///   errors  invalid_option: fraction not above 0; no maxima, or not as said; rounds_max below 1
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
struct fraction_of_maximum {
    double fraction = 0.25;                          // of the maximum
    std::vector<detail::recorded_maximum> maxima{};  // of the phases of training
    int rounds_max = 256;                            // of mixing in a step, at most

    static constexpr bool measures_exactly = true;
    static constexpr bool estimates = false;
    class state;
    state bind() const;
    void describe(auto&& field) const {
        field("fraction", fraction);
        std::string text;
        for (const detail::recorded_maximum& m : maxima) {
            detail::append_number(text += text.empty() ? "" : ", ", m.distance);
            detail::append_number(text += " from epoch ", m.from_epoch);
        }
        field("maxima", text);
        field("rounds_max", rounds_max);
    }
};

class fraction_of_maximum::state {
public:
    explicit state(const fraction_of_maximum& options);

    consensus_reading::measure needs(const round_info&) const noexcept;
    bool wants_another(const consensus_reading& now) noexcept;
    double target(const consensus_reading& now) const noexcept;
    void visit(auto&&) const noexcept {}

private:
    fraction_of_maximum options_;
    detail::round_limit limit_;
};

inline fraction_of_maximum::state fraction_of_maximum::bind() const {
    return state(*this);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/fraction_of_maximum.ipp"
#endif
