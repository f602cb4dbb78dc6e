#pragma once

#include <cstdint>
#include <string>

#include "sotto/consensus/consensus_control.hpp"
#include "sotto/consensus/consensus_controller.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

/// Keeps ranks neither too far from each other nor too close: some disagreement late in training is
/// said to help. Above the band further rounds are done as by consensus_control; below it the next
/// step does without any, and the one after that has one again, which measures.
///   math    low * rate * phi <= Theta <= high * rate * phi, with Theta and phi as in
///           consensus_control
///   errors  invalid_option: low not in [0, high), and as consensus_control
///   source  Kong et al. 2021, arXiv:2102.04828, phase 2
struct consensus_band {
    double low = 0.5;
    double high = 2.0;
    double average = 0.9;
    int rounds_max = 64;

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
    explicit state(const consensus_band& options)
        : low_(options.low),
          high_(options.high),
          norm_(options.average),
          limit_(options.rounds_max) {
        detail::check_control("consensus_band", options.high, options.average, options.rounds_max);
        if (!(options.low >= 0.0 && options.low < options.high))
            throw invalid_option("consensus_band: low is " + std::to_string(options.low) +
                                 " and high " + std::to_string(options.high) +
                                 "; low must be at least 0 and below high");
    }

    consensus_measure needs(const round_info&) const noexcept {
        return consensus_measure::estimate;
    }
    bool wants_one(const round_info& where) noexcept {
        const bool skips = is_close_ != 0 && where.step == step_ + 1;
        return !skips;
    }
    bool wants_another(const consensus_reading& now) noexcept {
        norm_.add(now);
        step_ = now.where.step;
        const bool is_close = now.distance < low_ * now.learning_rate * norm_.value();
        is_close_ = close_.add(now, is_close, detail::period_of(now)) ? 1 : 0;
        return limit_.wants_another(now, target(now));
    }
    double target(const consensus_reading& now) const noexcept {
        return high_ * now.learning_rate * norm_.value();
    }
    void visit(auto&& field) {
        norm_.visit(field);
        field("step", step_);
        field("is_close", is_close_);
    }

private:
    double low_, high_;
    detail::norm_average norm_;
    detail::round_limit limit_;
    detail::rounds_in_a_row close_;
    std::int64_t step_ = -1;     // of the last reading
    std::int64_t is_close_ = 0;  // then: 0 or 1
};

inline consensus_band::state consensus_band::bind() const {
    return state(*this);
}

}  // namespace sotto
