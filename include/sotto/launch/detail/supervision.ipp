#pragma once

#include "sotto/launch/detail/supervision.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::launch {

SOTTO_DECL void supervision::ended(std::span<const ending> together, time_point now) {
    running_ -= static_cast<int>(together.size());
    const bool first_of_all = !first_;
    if (first_of_all) failed_ = now;
    for (const ending& one : together) {
        if (one.lacks_output() && !lacking_) lacking_ = one;
        if (one.lacks_output() || !one.failed()) continue;
        if (!first_ || is_the_cause(one, now - failed_)) first_ = one;
    }
    if (first_of_all && first_ && !was_told_ && !keeps_going_)
        plan(SIGTERM, now + patience_.until_terminate);
}

SOTTO_DECL int supervision::told(int signal) {
    sent_ = true;
    if (!std::exchange(was_told_, true)) return signal;
    planned_.reset();
    return SIGKILL;
}

SOTTO_DECL std::optional<time_point> supervision::next() const noexcept {
    return planned_ ? std::optional(planned_->at) : std::nullopt;
}

SOTTO_DECL std::optional<int> supervision::due(time_point now) {
    if (running_ == 0 || !planned_ || now < planned_->at) return std::nullopt;
    const int signal = planned_->signal;
    planned_.reset();
    sent_ = true;
    if (signal == SIGTERM) plan(SIGKILL, now + patience_.until_kill);
    return signal;
}

SOTTO_DECL bool supervision::is_the_cause(const ending& one, duration later) const noexcept {
    if (sent_ || one.certainty() <= first_->certainty()) return false;
    return later <= (first_->certainty() == 0
                         ? std::max<duration>(patience_.until_terminate, until_told_of)
                         : until_told_of);
}

}  // namespace sotto::detail::launch
