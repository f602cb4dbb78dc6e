#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// A late gradient moves the parameters as if it were not late: asynchronous SGD.
struct no_compensation {
    struct state {
        double begin(const late_gradient&) const noexcept { return 1.0; }
    };
    state bind(const layout&, int) const noexcept { return {}; }
    void describe(auto&&) const {}
};

static_assert(staleness_compensator<no_compensation>);

}  // namespace sotto
