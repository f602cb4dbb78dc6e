#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// Asynchronous SGD: applies a late gradient unchanged.
struct no_compensation {
    struct state {
        double begin(const late_gradient&) const noexcept { return 1.0; }
    };
    state bind(const layout&, int) const noexcept { return {}; }
    void describe(auto&&) const {}
};

static_assert(staleness_compensator<no_compensation>);

}  // namespace sotto
