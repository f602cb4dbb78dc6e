#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// Shrinks the step as the server takes more steps and as the gradient gets later.
///   math    1 / (1 / rate + c sqrt(t + tau)) replaces the rate, t = the steps of the server
///   errors  bind throws invalid_option unless c is finite and at least 0
///   source  Sra, Yu, Li, Smola 2016, AdaDelay, AISTATS; arXiv:1508.05003
struct ada_delay {
    double c = 0.1;  // strength of the shrinking

    static constexpr bool adaptive_rate = true;

    struct state {
        double c = 0.0;  // c of the options
        double begin(const late_gradient& what) const noexcept;
    };
    state bind(const layout&, int) const;
    void describe(auto&& field) const { field("c", c); }
};

static_assert(staleness_compensator<ada_delay>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/ada_delay.ipp"
#endif
