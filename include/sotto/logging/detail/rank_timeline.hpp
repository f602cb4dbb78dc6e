#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::detail {

/// What a rank does one after the other in a step.
struct part_of_time {
    const char* name;  // of what it does
    double seconds;    // that it takes
};

/// A step of one rank: when it began to read its batch, and how long it then did what.
struct timed_step {
    std::int64_t number = 0;  // of the step, as the trainer counts
    double began = 0.0;       // seconds of the clock that its timeline is by
    double load = 0.0, compute = 0.0, compress = 0.0, wait = 0.0, apply = 0.0;  // seconds
    double bytes_sent = 0.0;                                                    // by this rank

    /// When the last tensor had left.
    double sent() const noexcept { return began + load + compute + compress; }
    /// When the step was over.
    double ended() const noexcept { return sent() + wait + apply; }
    /// In order.
    std::array<part_of_time, 5> parts() const noexcept;

    friend bool operator==(const timed_step&, const timed_step&) = default;
};

/// The first steps of one rank in a call of `fit`. The first, since ranks begin together: of the
/// last ones a fast rank's and a slow one's need not be of the same time.
///   cost    64 bytes a step that is kept, taken by reserve
class rank_timeline {
public:
    static constexpr std::size_t steps_max = 512;  // that are kept

    int rank = 0;  // whose steps these are
    bool by_clock =
        false;  // the transport's, alike on ranks of one machine; else since `fit` began
    std::vector<timed_step> steps{};  // the first ones
    // Of all steps, those that are not kept too.
    double waited = 0.0, seconds = 0.0;  // of all of them

    /// Takes the memory for all of them.
    void reserve() { steps.reserve(steps_max); }

    /// Another call of `fit` begins.
    void begin(int of_rank) noexcept;

    /// A step that ended so long after `fit` began; `clock`: when by the transport's, NaN: unknown.
    void add(timed_step s, double ended, double clock);

    /// Of its steps' time, what it spent waiting; 0 before there is any.
    double waiting_share() const noexcept { return seconds > 0.0 ? waited / seconds : 0.0; }

    friend bool operator==(const rank_timeline&, const rank_timeline&) = default;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/rank_timeline.ipp"
#endif
