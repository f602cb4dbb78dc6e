#pragma once

#include <algorithm>
#include <chrono>

#include "sotto/core/clock.hpp"

namespace sotto {

/// The time limit of a wait. It does not count time in which the process was halted: by Ctrl-Z, a
/// debugger, a paused container, a suspended machine.
///
/// The owner calls `passed` at least once per slice. A call that comes far later than that shows a
/// halt, or a machine with no processor for this process, and moves the limit by as much. A caller
/// that works between two calls gets the same extension. The owner supplies the time, so that a
/// test needs no clock.
///   math    a gap between two calls counts in full up to 4 slices, else as 1 slice; a slice is an
///           eighth of the limit, 1 ms at least and 250 ms at most
class deadline {
public:
    /// Longest time between two calls of `passed`.
    static constexpr duration slice_max = std::chrono::milliseconds(250);

    /// Never passes.
    deadline() = default;
    /// Passes `limit` after `now`; `never` or more than 100 years: not at all.
    deadline(time_point now, duration limit) noexcept
        : looked_(now),
          slice_(std::clamp<duration>(limit / 8, std::chrono::milliseconds(1), slice_max)),
          end_(limit > std::chrono::years(100) ? time_point::max() : now + limit) {}

    /// Whether the limit is over at `now`.
    bool passed(time_point now) noexcept {
        const duration gap = now - looked_;
        looked_ = now;
        if (end_ == time_point::max()) return false;
        if (gap > 4 * slice_) end_ += gap - slice_;
        return now >= end_;
    }

    /// Latest time for the next call of `passed`: how long to wait at most.
    time_point next_look() const noexcept { return std::min(end_, looked_ + slice_); }

    /// The end of the limit, as far as no halt moves it.
    time_point end() const noexcept { return end_; }

private:
    time_point looked_{};
    duration slice_ = slice_max;
    time_point end_ = time_point::max();
};

}  // namespace sotto
