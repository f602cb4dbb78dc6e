#pragma once

#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL bulk_synchronous::state::state(int workers, int backups, bool averaged)
    : backups_(backups),
      averaged_(averaged),
      clocks_(workers),
      given_(static_cast<std::size_t>(workers)) {}

SOTTO_DECL void bulk_synchronous::state::pushed(int worker, std::int64_t clock,
                                                time_point) noexcept {
    clocks_.push(worker, clock);
    if (!is_late(clock)) of(worker) = clock;
}

SOTTO_DECL std::int64_t bulk_synchronous::state::clock(int worker) const noexcept {
    std::optional<std::int64_t> least;  // that anybody else has done
    for (int other = 0; other < clocks_.workers(); ++other)
        if (other != worker && clocks_.is_waited_for(other))
            least = (std::min)(least.value_or(INT64_MAX),
                               of(other) ? *of(other) - 1 : clocks_.at(other));
    return (std::max)(done_, least.value_or(0));
}

SOTTO_DECL bool bulk_synchronous::state::round_complete() const noexcept {
    const auto round = next_round();
    return round && due(*round) <= backups_;
}

SOTTO_DECL bool bulk_synchronous::state::in_round(int worker) const noexcept {
    return of(worker) && of(worker) == next_round();
}

SOTTO_DECL void bulk_synchronous::state::end_round() noexcept {
    const auto round = next_round();
    if (!round) return;
    done_ = (std::max)(done_, *round);
    for (auto& clock : given_)
        if (clock == round) clock.reset();
}

SOTTO_DECL double bulk_synchronous::state::weight() const noexcept {
    int count = 0;
    for (int worker = 0; worker < clocks_.workers(); ++worker) count += in_round(worker);
    return averaged_ ? 1.0 / (std::max)(1, count) : 1.0;
}

SOTTO_DECL std::optional<std::int64_t>& bulk_synchronous::state::of(int worker) noexcept {
    return given_[static_cast<std::size_t>(worker)];
}

SOTTO_DECL const std::optional<std::int64_t>& bulk_synchronous::state::of(
    int worker) const noexcept {
    return given_[static_cast<std::size_t>(worker)];
}

SOTTO_DECL std::optional<std::int64_t> bulk_synchronous::state::next_round() const noexcept {
    std::optional<std::int64_t> least;
    for (const auto& clock : given_)
        if (clock) least = (std::min)(least.value_or(INT64_MAX), *clock);
    return least;
}

SOTTO_DECL int bulk_synchronous::state::due(std::int64_t round) const noexcept {
    int count = 0;
    for (int worker = 0; worker < clocks_.workers(); ++worker)
        count += clocks_.is_waited_for(worker) && !of(worker) && clocks_.at(worker) < round;
    return count;
}

SOTTO_DECL bulk_synchronous::state bulk_synchronous::bind(int workers) const {
    require_option("bulk_synchronous", "backups", backups,
                   detail::allowed::at_least(0).below((std::max)(workers, 1)),
                   ", the number of workers");
    return {workers, backups, averaged};
}

}  // namespace sotto
