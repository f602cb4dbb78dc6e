#pragma once

#include "sotto/consistency/consistency.hpp"
#include "sotto/core/clock.hpp"

namespace sotto {

/// Nobody waits for anybody: every gradient moves the parameters as it comes, and its worker goes
/// on with what they then are.
struct asynchronous {
    struct state {
        void attach(int) const noexcept {}
        void detach(int) const noexcept {}
        void excuse(int) const noexcept {}
        void pushed(int, time_point) const noexcept {}
        bool may_go(int, time_point) const noexcept { return true; }
        bool collects() const noexcept { return false; }
        bool round_complete() const noexcept { return false; }
        void end_round() const noexcept {}
        bool is_late(int) const noexcept { return false; }
        double weight() const noexcept { return 1.0; }
    };
    state bind(int) const noexcept { return {}; }
    void describe(auto&&) const {}
};

static_assert(consistency<asynchronous>);

}  // namespace sotto
