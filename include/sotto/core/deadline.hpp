#pragma once

#include <chrono>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// Length of a wait, without the time in which the process was halted. Ctrl-Z, a debugger, a paused
/// container and a suspended machine halt a process.
///
/// The owner calls `at` at least once per slice. A much longer gap between two calls shows a halt,
/// a machine without a processor for this process, or an owner that worked in between. The owner
/// passes the time, so a test needs no clock.
///   math  a gap between two calls counts in full up to 4 slices, else as 1 slice
class waiting_time {
public:
    /// Default for the longest time between two calls.
    static constexpr duration slice_max = std::chrono::milliseconds(250);

    waiting_time() = default;
    /// Starts the wait at `now`.
    explicit waiting_time(time_point now, duration slice = slice_max) noexcept
        : looked_(now), slice_(slice) {}

    /// Updates the wait and returns its length at `now`.
    duration at(time_point now) noexcept;

    /// Returns the length of the wait at the last call of `at`.
    duration waited() const noexcept { return waited_; }
    /// Returns the time of the last call of `at`.
    time_point looked() const noexcept { return looked_; }
    /// Returns the longest time until the next call of `at`.
    duration slice() const noexcept { return slice_; }

private:
    time_point looked_{};
    duration slice_ = slice_max;
    duration waited_{};
};

}  // namespace sotto::detail

namespace sotto {

/// Time limit of a wait, measured by waiting_time: a halt of the process postpones it.
///   math  a slice is an eighth of the limit, at least 1 ms and at most 250 ms
class deadline {
public:
    /// Means no limit. Use it as a `timeout` while a debugger halts single ranks.
    static constexpr duration never = (duration::max)();

    /// Never passes.
    deadline() = default;
    /// Passes `limit` after `now`; never passes if `limit` is `never`.
    deadline(time_point now, duration limit) noexcept;

    /// Updates the wait. Returns true if the limit has passed at `now`.
    bool passed(time_point now) noexcept { return time_.at(now) >= limit_; }

    /// Returns the time until which the owner may wait before it calls `passed` again.
    time_point next_look() const noexcept;

private:
    detail::waiting_time time_;
    duration limit_ = never;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/deadline.ipp"
#endif
