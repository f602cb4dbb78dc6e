#pragma once

#include <cstdint>

#include "sotto/strategies/gossip/control/consensus_controller.hpp"

namespace sotto::detail {
/// The running mean of gradient norms over steps.
class norm_average {
public:
    explicit norm_average(double keep) noexcept : keep_(keep) {}

    /// Once this reading is in it, as it may be. Of a step's readings the first counts.
    double with(const consensus_reading& now) const noexcept;
    void add(const consensus_reading& now) noexcept;
    double value() const noexcept { return mean_; }

    void visit(auto&& field) {
        field("norm", mean_);
        field("norm_step", step_);
        field("norm_begun", begun_);
    }

private:
    double keep_;
    double mean_ = 0.0;
    std::int64_t step_ = -1;
    std::int64_t begun_ = 0;  // 0 or 1
};

void check_control(const char* policy, const double& average, int rounds_max);
}  // namespace sotto::detail

namespace sotto {

/// Mixes until what a round moves parameters by is below rho times learning rate times gradient
/// norm. That is the estimate of how far ranks are apart, and not the distance, which on a graph
/// that mixes slowly is several times as large: up to 1 / (1 - lambda) of it, 5 on a ring of 8 and
/// 20 on one of 16. The distance itself is kept below by `scaled_by_gap`, in more rounds than it
/// takes, and in studies by exact_consensus_control, which measures it.
///   math    another round while Theta > target, target = rho * rate * phi, with phi the running
///           mean over steps of the gradients' norm, phi = average * phi + (1 - average) * phi_t.
///           By scaled_by_gap target = rho * rate * phi * (1 - lambda), so that by
///           Xi <= Theta / (1 - lambda) the distance is below rho * rate * phi; in a period of m
///           matrices that take turns (1 - lambda^m) / m in place of 1 - lambda. Where they do
///           Theta is the largest of the last period of rounds of this step, so that a step has at
///           least that many; where each is drawn anew, of one round. No more rounds than would
///           bring the distance to the target by mixing alone, in whole periods, and at most
///           rounds_max, where lambda is not known that alone. With surviving{} lambda is of all
///           ranks: where some are gone rounds that should have sufficed may miss the target,
///           which is told
///           The target is about as long as a step of plain SGD. Momentum's is up to 1 / (1 - m)
///           of that, clipped{}'s shorter; AdamW's is about rate times the root of the number of
///           parameters, whatever the gradient: there choose rho by the log's distances, or take
///           fraction_of_maximum
///   wire    three numbers summed over all ranks for each round
///   errors  does not compile with an optimizer that does not tell its rate; invalid_option: rho
///           not above 0, average not in [0, 1), rounds_max below 1; by gossip, scaled_by_gap where
///           lambda is not known: rounds that are drawn anew, push-sum
///   source  Kong et al. 2021, Consensus control for decentralized deep learning, arXiv:2102.04828
struct consensus_control {
    double rho = 0.25;           // of the target
    double average = 0.9;        // what the running mean phi keeps a step
    int rounds_max = 64;         // of mixing in a step, at most
    bool scaled_by_gap = false;  // by 1 - lambda, the graph's spectral gap

    static constexpr bool needs_rate = true;
    class state;
    state bind() const;
    constexpr bool needs_gap() const noexcept { return scaled_by_gap; }
    void describe(auto&& field) const {
        field("rho", rho);
        field("average", average);
        field("rounds_max", rounds_max);
        field("scaled_by_gap", scaled_by_gap);
    }
};

class consensus_control::state {
public:
    explicit state(const consensus_control& options, const char* policy = "consensus_control",
                   consensus_reading::measure measured = consensus_reading::measure::estimate);

    consensus_reading::measure needs(const round_info&) const noexcept { return measured_; }
    bool wants_another(const consensus_reading& now) noexcept;
    double target(const consensus_reading& now) const noexcept;
    bool misses(const consensus_reading&) const noexcept { return limit_.misses(); }
    void visit(auto&& field) { norm_.visit(field); }

private:
    double rho_;
    bool scaled_by_gap_;
    detail::norm_average norm_;
    consensus_reading::measure measured_;
    detail::round_limit limit_;
};

inline consensus_control::state consensus_control::bind() const {
    return state(*this);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/gossip/control/consensus_control.ipp"
#endif
