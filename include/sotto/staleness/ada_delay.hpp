#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// Steps shrink with what has been learnt and with how late a gradient is.
///   math    1 / (1 / rate + c sqrt(t + tau)) in place of the rate, t = the steps of the server
///   errors  bind throws invalid_option unless c is finite and at least 0
///   source  Sra, Yu, Li, Smola 2016, AdaDelay, AISTATS; arXiv:1508.05003
struct ada_delay {
    double c = 0.1;  // how much a step shrinks

    static constexpr bool adaptive_rate = true;

    struct state {
        double c = 0.0;  // as in the options
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
