#pragma once

#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"

#include <algorithm>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL dynamic_stale_synchronous::state::state(int workers,
                                                   const dynamic_stale_synchronous& options)
    : lowest_(options.lowest),
      highest_(options.highest),
      averaged_(options.averaged),
      clocks_(workers),
      pace_(static_cast<std::size_t>(workers)) {}

SOTTO_DECL void dynamic_stale_synchronous::state::attach(int worker, std::int64_t clock) noexcept {
    clocks_.attach(worker, clock);
    of(worker) = {};
}

SOTTO_DECL void dynamic_stale_synchronous::state::pushed(int worker, std::int64_t clock,
                                                         time_point now) noexcept {
    clocks_.push(worker, clock);
    pace& p = of(worker);
    p.last = now;
    p.round = now - p.went;
    if (p.granted > 0) --p.granted;
}

SOTTO_DECL bool dynamic_stale_synchronous::state::may_go(int worker, time_point now) noexcept {
    const bool may = decide(worker);
    if (may) of(worker).went = now;
    return may;
}

SOTTO_DECL std::int64_t dynamic_stale_synchronous::state::clock(int worker) const noexcept {
    return clocks_.at_least(worker, highest_ + 1);
}

SOTTO_DECL double dynamic_stale_synchronous::state::weight() const noexcept {
    return averaged_ ? 1.0 / (std::max)(1, clocks_.sharing()) : 1.0;
}

SOTTO_DECL bool dynamic_stale_synchronous::state::decide(int worker) noexcept {
    const std::int64_t ahead = clocks_.at(worker) - clocks_.slowest();
    if (ahead <= lowest_) {
        of(worker).granted = 0;
        return true;
    }
    if (ahead > highest_) return false;
    if (of(worker).granted > 0) return true;
    const std::pair decided{clocks_.at(worker), clocks_.slowest()};
    if (std::exchange(of(worker).decided, decided) == decided) return false;
    of(worker).granted = foreseen_rounds(worker, highest_ - ahead + 1);
    return of(worker).granted > 0;
}

SOTTO_DECL int dynamic_stale_synchronous::state::slowest() const noexcept {
    int found = 0;
    std::int64_t least = INT64_MAX;
    for (int w = 0; w < static_cast<int>(pace_.size()); ++w)
        if (clocks_.is_waited_for(w) && clocks_.at(w) < least) {
            least = clocks_.at(w);
            found = w;
        }
    return found;
}

SOTTO_DECL std::int64_t dynamic_stale_synchronous::state::foreseen_rounds(
    int worker, std::int64_t most) noexcept {
    const pace &fast = of(worker), &slow = of(slowest());
    if (slow.round <= duration::zero() || fast.round <= duration::zero()) return 0;
    std::int64_t best = 0;
    duration least = (duration::max)();
    for (std::int64_t r = 0; r <= most; ++r) {
        const time_point ends = fast.last + r * fast.round;
        time_point next = slow.last + slow.round;
        if (next < ends)
            next += ((ends - next + slow.round - duration(1)) / slow.round) * slow.round;
        if (next - ends < least) {
            least = next - ends;
            best = r;
        }
    }
    return best;
}

SOTTO_DECL dynamic_stale_synchronous::state dynamic_stale_synchronous::bind(int workers) const {
    require_option("dynamic_stale_synchronous", "lowest", lowest,
                   detail::allowed::at_least(0).at_most(highest_max));
    require_option("dynamic_stale_synchronous", "highest", highest,
                   detail::allowed::at_least(lowest).at_most(highest_max));
    return {workers, *this};
}

}  // namespace sotto
