#pragma once

#include <cstdint>
#include <limits>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto {

/// Keeps ranks, by the estimate of how far they are apart, neither too far from each other nor too
/// close: some disagreement late in training is said to help. Above the band further rounds are
/// done as by consensus_control; below it the next step does without any, and the one after that
/// has one again, which measures.
///   math    low * rate * phi <= Theta <= high * rate * phi, with Theta and phi as in
///           consensus_control. A step is without rounds where all estimates of the step before, a
///           period of them or more, are below the band of its own rate: not where rounds had first
///           to bring ranks there, or where the rate has fallen since
///   errors  invalid_option: low not in [0, high), and as consensus_control
///   source  Kong et al. 2021, arXiv:2102.04828, phase 2
struct consensus_band {
    double low = 0.5;      // of the band's lower end
    double high = 2.0;     // of its upper end
    double average = 0.9;  // what the running mean phi keeps a step
    int rounds_max = 64;   // of mixing in a step, at most

    static constexpr bool needs_rate = true;
    class state;
    state bind() const;
    void describe(auto&& field) const {
        field("low", low);
        field("high", high);
        field("average", average);
        field("rounds_max", rounds_max);
    }
};

class consensus_band::state {
public:
    explicit state(const consensus_band& options);

    consensus_reading::measure needs(const round_info&) const noexcept;
    bool wants_one(const round_info& where, double learning_rate) const noexcept;
    bool wants_another(const consensus_reading& now) noexcept;
    double target(const consensus_reading& now) const noexcept;
    bool misses(const consensus_reading&) const noexcept { return limit_.misses(); }
    void visit(auto&& field) {
        norm_.visit(field);
        field("step", step_);
        field("distance", distance_);
    }

private:
    /// Of what is not known it is not known whether it is small.
    static constexpr double unknown = std::numeric_limits<double>::infinity();

    double low_, high_;
    detail::norm_average norm_;
    detail::round_limit limit_;
    double largest_ = 0.0;       // of the step's readings
    std::int64_t step_ = -1;     // of the last reading
    double distance_ = unknown;  // the largest of that step, if it has had a period of them
};

inline consensus_band::state consensus_band::bind() const {
    return state(*this);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/consensus_band.ipp"
#endif
