#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sotto/core/clock.hpp"

namespace sotto::detail::net {

/// How ranks show each other that they live.
struct liveness_options {
    duration heartbeat = std::chrono::milliseconds(250);
    duration dead_after = std::chrono::seconds(2);  // without a sign of life; 0: never
    duration first_sign{};            // until the first sign of life; 0: as dead_after
    const char* transport = "sotto";  // whose options these are
    int ranks = 2;                    // of the job
    /// A rank may settle until it is heard for so many times its silence: the first large messages
    /// fill queues, whose delay is not measured yet.
    int settling = 0;

    /// Time between two signs of life of a rank to another. In a large job they are rarer: each
    /// rank sends at most 32 of them per heartbeat, since those of all ranks together grow with
    /// the square of their number.
    duration period() const noexcept { return (std::max)(heartbeat, heartbeat * (ranks - 1) / 32); }
    /// Silence that a network without delay may cause: dead_after, and at least four periods, which
    /// are longer from 66 ranks on by the defaults.
    duration silence() const noexcept;
};

/// What the system of a rank knows of its connections to another rank.
struct path_facts {
    std::uint64_t segments = 0;  // of TCP that came, with content
    duration round_trip{};       // smoothed; a queue on the way adds to it
    duration retransmission{};   // what was not acknowledged is sent again within; 0: nothing is
    /// What was sent to it. The system of a rank acknowledges also while its process hangs.
    bool is_acknowledged = true;
};

/// When another rank last gave a sign of life, and for how long it may give none. Signs of life are
/// its frames and, while these are overdue, whatever content comes by any of its connections.
///   math  the limit is s + 4 d + r, at most 3 s: s is dead_after, in a large job four periods
///         between signs of life if these are longer; d is the smoothed round trip, without the
///         200 ms by which a system may delay an acknowledgement; r is the longest time in this
///         silence within which the system sends again what was lost, at least s / 2, and 0 where
///         nothing was lost: the other rank's next attempt may be as late, even after this rank's
///         came through. Before the first sign of life the limit is first_sign; while a rank
///         settles, 3 s
class liveness {
public:
    /// The first sign of life is still to come.
    explicit liveness(duration present) noexcept : last_(present) {}

    /// Frames came.
    void heard(duration present) noexcept;

    bool is_overdue(duration present, const liveness_options& options) const noexcept;
    /// While frames are overdue: more segments than the last time are a sign of life.
    void observe(const path_facts& path, duration present) noexcept;

    bool is_lost(duration present, const liveness_options& options) const noexcept;

    duration limit(const liveness_options& options) const noexcept;
    /// How long it takes to the rank and back, where that is more than a system adds by itself.
    duration delay() const noexcept { return delay_; }

    /// Its system acknowledges nothing, and it is not heard for long enough to know its delay under
    /// load.
    bool settles(const liveness_options& options) const noexcept;

    /// Why the rank is lost.
    std::string cause(const liveness_options& options) const;

private:
    // The longest delay of an acknowledgement by Linux, whose sender has nothing else to send.
    static constexpr duration acknowledged_after = std::chrono::milliseconds(200);

    void note(duration present) noexcept;
    bool waits_for_first(const liveness_options& options) const noexcept;

    duration next_attempt(const liveness_options& options) const noexcept;

    duration last_;
    std::optional<duration> first_{};  // sign of life
    duration delay_{}, retransmission_{};
    bool is_acknowledged_ = true;
    std::optional<std::uint64_t> segments_{};  // while frames are overdue: that had come
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/liveness.ipp"
#endif
