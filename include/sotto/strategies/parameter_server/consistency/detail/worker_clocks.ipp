#pragma once

#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.hpp"

#include <algorithm>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL int worker_clocks::sharing() const noexcept {
    return static_cast<int>(std::count_if(all_.begin(), all_.end(), [this](const entry& e) {
        return e.is_present || (e.has_finished && e.clock >= last_pushed_);
    }));
}

SOTTO_DECL bool worker_clocks::is_waited_for(int worker) const noexcept {
    return of(worker).is_present && !of(worker).is_overlooked;
}

SOTTO_DECL void worker_clocks::attach(int worker, std::int64_t clock) noexcept {
    of(worker) = {clock, true, false, false};
}

SOTTO_DECL void worker_clocks::detach(int worker) noexcept {
    if (!of(worker).is_present) return;
    last_slowest_ = slowest();
    of(worker).is_present = false;
}

SOTTO_DECL void worker_clocks::finish(int worker) noexcept {
    if (!of(worker).is_present) return;
    detach(worker);
    of(worker).has_finished = true;
}

SOTTO_DECL void worker_clocks::push(int worker, std::int64_t clock) noexcept {
    of(worker).clock = last_pushed_ = clock;
    of(worker).is_overlooked = false;
}

SOTTO_DECL std::optional<std::int64_t> worker_clocks::slowest_but(int worker) const noexcept {
    std::optional<std::int64_t> least;
    for (int other = 0; other < workers(); ++other)
        if (other != worker && is_waited_for(other))
            least = (std::min)(least.value_or(INT64_MAX), at(other));
    return least;
}

SOTTO_DECL std::int64_t worker_clocks::start(int worker) const noexcept {
    return slowest_but(worker).value_or(last_slowest_);
}

SOTTO_DECL std::int64_t worker_clocks::at_least(int worker, std::int64_t behind) const noexcept {
    return (std::max)(at(worker), slowest_but(worker).value_or(0) - behind);
}

}  // namespace sotto::detail
