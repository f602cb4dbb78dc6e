#pragma once

#include <cstdint>

#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/core/clock.hpp"

namespace sotto {

/// Nobody waits for anybody: every gradient moves the parameters as it comes, and its worker goes
/// on with what they then are.
struct asynchronous {
    struct state {
        std::int64_t start(int) const noexcept { return 0; }
        void attach(int, std::int64_t) const noexcept {}
        void overlook(int) const noexcept {}
        void detach(int) const noexcept {}
        void pushed(int, std::int64_t, time_point) const noexcept {}
        bool may_go(int, time_point) const noexcept { return true; }
        std::int64_t clock(int) const noexcept { return 0; }
        bool collects() const noexcept { return false; }
        bool round_complete() const noexcept { return false; }
        bool in_round(int) const noexcept { return false; }
        void end_round() const noexcept {}
        bool is_late(std::int64_t) const noexcept { return false; }
        double weight() const noexcept { return 1.0; }
    };
    state bind(int) const noexcept { return {}; }
    void describe(auto&&) const {}
};

static_assert(consistency<asynchronous>);

}  // namespace sotto
