#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::detail {

/// A part of a rank's step; the parts follow each other.
struct part_of_time {
    const char* name;  // name of the activity
    double seconds;    // duration in seconds
};

/// A step of one rank: when it began to read its batch, and the duration of each part.
struct timed_step {
    std::int64_t number = 0;  // step number of the trainer
    double began = 0.0;       // seconds by the timeline's clock
    double load = 0.0, compute = 0.0, compress = 0.0, wait = 0.0, apply = 0.0;  // seconds
    double bytes_sent = 0.0;  // bytes sent by this rank

    /// Returns the time when the last tensor had been sent.
    double sent() const noexcept { return began + load + compute + compress; }
    /// Returns the end of the step.
    double ended() const noexcept { return sent() + wait + apply; }
    /// Returns the parts in order.
    std::array<part_of_time, 5> parts() const noexcept;

    friend bool operator==(const timed_step&, const timed_step&) = default;
};

/// The first steps of one rank in a call of `fit`. Ranks begin together, so their first steps cover
/// the same time; the last steps of a fast and a slow rank need not. Ranks of one machine share the
/// transport's clock.
///   cost    64 bytes for each stored step, allocated by reserve
class rank_timeline {
public:
    static constexpr std::size_t steps_max = 512;  // most steps stored

    int rank = 0;                     // rank of these steps
    bool by_clock = false;            // true: by the transport's clock; false: since `fit` began
    std::vector<timed_step> steps{};  // first steps of the call
    // Over all steps, also those beyond steps_max.
    double waited = 0.0, seconds = 0.0;  // seconds waited, seconds in total

    /// Allocates the memory for all steps.
    void reserve() { steps.reserve(steps_max); }

    /// Begins another call of `fit`.
    void begin(int of_rank) noexcept;

    /// Adds a step that ended `ended` seconds after `fit` began. `clock` is its start by the
    /// transport's clock; NaN if unknown.
    void add(timed_step s, double ended, double clock);

    /// Returns the share of its steps' time that the rank waited; 0 before the first step.
    double waiting_share() const noexcept { return seconds > 0.0 ? waited / seconds : 0.0; }

    friend bool operator==(const rank_timeline&, const rank_timeline&) = default;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/rank_timeline.ipp"
#endif
