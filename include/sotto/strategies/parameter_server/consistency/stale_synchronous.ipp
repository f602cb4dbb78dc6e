#pragma once

#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL stale_synchronous::state::state(int workers, const stale_synchronous& options)
    : bound_(options.bound),
      averaged_(options.averaged),
      rounds_(bulk_synchronous{.averaged = options.averaged}.bind(workers)),
      clocks_(workers) {}

SOTTO_DECL std::int64_t stale_synchronous::state::start(int worker) const noexcept {
    return collects() ? rounds_.start(worker) : clocks_.start(worker);
}

SOTTO_DECL void stale_synchronous::state::attach(int worker, std::int64_t clock) noexcept {
    rounds_.attach(worker, clock);
    clocks_.attach(worker, clock);
}

SOTTO_DECL void stale_synchronous::state::overlook(int worker) noexcept {
    rounds_.overlook(worker);
    clocks_.overlook(worker);
}

SOTTO_DECL void stale_synchronous::state::detach(int worker) noexcept {
    rounds_.detach(worker);
    clocks_.detach(worker);
}

SOTTO_DECL void stale_synchronous::state::finish(int worker) noexcept {
    rounds_.detach(worker);
    clocks_.finish(worker);
}

SOTTO_DECL void stale_synchronous::state::pushed(int worker, std::int64_t clock,
                                                 time_point now) noexcept {
    if (collects()) rounds_.pushed(worker, clock, now);
    clocks_.push(worker, clock);
}

SOTTO_DECL bool stale_synchronous::state::may_go(int worker, time_point now) noexcept {
    if (collects()) return rounds_.may_go(worker, now);
    return clocks_.at(worker) - clocks_.slowest() <= bound_;
}

SOTTO_DECL std::int64_t stale_synchronous::state::clock(int worker) const noexcept {
    return collects() ? rounds_.clock(worker) : clocks_.at_least(worker, std::int64_t{bound_} + 1);
}

SOTTO_DECL bool stale_synchronous::state::is_late(std::int64_t clock) const noexcept {
    return collects() && rounds_.is_late(clock);
}

SOTTO_DECL double stale_synchronous::state::weight() const noexcept {
    if (collects()) return rounds_.weight();
    return averaged_ ? 1.0 / (std::max)(1, clocks_.sharing()) : 1.0;
}

SOTTO_DECL stale_synchronous::state stale_synchronous::bind(int workers) const {
    require_option("stale_synchronous", "bound", bound, detail::allowed::at_least(0));
    return {workers, *this};
}

}  // namespace sotto
