#pragma once

#include <chrono>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// How long a wait lasts, without the time in which the process was halted: by Ctrl-Z, a debugger,
/// a paused container, a suspended machine.
///
/// The owner looks at it at least once per slice. A look that comes far later than that shows a
/// halt, or a machine without a processor for this process; the same holds for an owner that works
/// between two looks. The owner supplies the time, so that a test needs no clock.
///   math  a gap between two looks counts in full up to 4 slices, else as 1 slice
class waiting_time {
public:
    /// Longest time between two looks, unless another is chosen.
    static constexpr duration slice_max = std::chrono::milliseconds(250);

    waiting_time() = default;
    /// Begins now.
    explicit waiting_time(time_point now, duration slice = slice_max) noexcept
        : looked_(now), slice_(slice) {}

    /// Looks; returns how long the wait has lasted at `now`.
    duration at(time_point now) noexcept;

    /// The same at the last look.
    duration waited() const noexcept { return waited_; }
    /// Time of the last look.
    time_point looked() const noexcept { return looked_; }
    /// Longest time until the next look.
    duration slice() const noexcept { return slice_; }

private:
    time_point looked_{};
    duration slice_ = slice_max;
    duration waited_{};
};

}  // namespace sotto::detail

namespace sotto {

/// The time limit of a wait, by waiting_time: a halt of the process moves it.
///   math  a slice is an eighth of the limit, 1 ms at least and 250 ms at most
class deadline {
public:
    /// As a limit: none. For a `timeout` while a debugger halts single ranks.
    static constexpr duration never = (duration::max)();

    /// Never passes.
    deadline() = default;
    /// Passes `limit` after `now`, or not at all if that is `never`.
    deadline(time_point now, duration limit) noexcept;

    /// Looks; returns whether the limit is over at `now`.
    bool passed(time_point now) noexcept { return time_.at(now) >= limit_; }

    /// When to look next: until when to wait at most.
    time_point next_look() const noexcept;

private:
    detail::waiting_time time_;
    duration limit_ = never;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/deadline.ipp"
#endif
