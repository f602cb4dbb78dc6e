#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// Divides the step by the gradient's staleness.
///   math    rate / max(1, tau), tau = the steps since the worker read its parameters
///   source  Zhang, Gupta, Lian, Liu 2016, Staleness-aware Async-SGD, arXiv:1511.05950
struct inverse_staleness {
    struct state {
        double begin(const late_gradient& what) const noexcept;
    };
    state bind(const layout&, int) const noexcept { return {}; }
    void describe(auto&&) const {}
};

static_assert(staleness_compensator<inverse_staleness>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/inverse_staleness.ipp"
#endif
