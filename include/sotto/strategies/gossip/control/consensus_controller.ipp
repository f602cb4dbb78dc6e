#pragma once

#include "sotto/strategies/gossip/control/consensus_controller.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail::controlling {

SOTTO_DECL bool is_above(double a, double b) noexcept {
    return !is_nan(a) && !is_nan(b) && a > b;
}

}  // namespace sotto::detail::controlling

namespace sotto::detail {

SOTTO_DECL int rounds_to_reach(double distance, double target, double second_singular_value,
                               int most) noexcept {
    using controlling::is_above;
    if (!is_above(distance, target)) return 1;
    if (!is_above(target, 0.0) || !is_above(1.0, second_singular_value)) return most;
    if (!is_above(second_singular_value, 0.0)) return 1;
    const double rounds = std::log(distance / target) / -std::log(second_singular_value);
    return static_cast<int>(std::clamp(std::ceil(rounds), 1.0, static_cast<double>(most)));
}

SOTTO_DECL bool rounds_in_a_row::add(const consensus_reading& now, bool is_so,
                                     std::int64_t count) noexcept {
    if (now.rounds <= 1) rounds_ = 0;
    rounds_ = is_so ? rounds_ + 1 : 0;
    return rounds_ >= count;
}

SOTTO_DECL double gap_of(const consensus_reading& now) noexcept {
    const auto period = static_cast<double>(std::max<std::int64_t>(now.period, 1));
    return (1.0 - std::pow(now.second_singular_value, period)) / period;
}

SOTTO_DECL std::int64_t period_of(const consensus_reading& now) noexcept {
    return std::max<std::int64_t>(now.period, 1);
}

SOTTO_DECL bool round_limit::wants_another(const consensus_reading& now, double target) noexcept {
    is_near_ = now.is_mean;
    if (now.is_mean) return false;
    const std::int64_t judged = is_exact_ ? 1 : period_of(now);
    if (now.rounds <= 1) largest_ = 0.0, known_ = 0, allowed_ = judged + period_of(now);
    if (known_ < judged && !is_nan(now.distance)) {
        largest_ = (std::max)(largest_, now.distance);
        allowed_ = ++known_ == judged ? now.rounds + in_periods(now, target)
                                      : (std::max)(allowed_, now.rounds + judged);
    }
    is_near_ = near_.add(now, is_at_most(now.distance, target), judged);
    return !is_near_ && now.rounds < std::min<std::int64_t>(allowed_, most_);
}

SOTTO_DECL bool round_limit::is_at_most(double distance, double target) noexcept {
    return !is_nan(distance) && !is_nan(target) && distance <= target;
}

SOTTO_DECL std::int64_t round_limit::in_periods(const consensus_reading& now,
                                                double target) const noexcept {
    const std::int64_t period = period_of(now);
    const int rounds = rounds_to_reach(largest_, target, now.second_singular_value, most_);
    return (rounds + period - 1) / period * period;
}

}  // namespace sotto::detail
