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
    duration dead_after = std::chrono::seconds(2);  // limit without a sign of life; 0: never
    duration first_sign{};            // limit until the first sign of life; 0: as dead_after
    const char* transport = "sotto";  // prefix of the options' names
    int ranks = 2;                    // number of ranks of the job
    /// A rank may settle until its signs of life span this many times its silence. The first large
    /// messages fill queues, whose delay is not measured yet.
    int settling = 0;

    /// Time between two signs of life of a rank to another. In a large job they are rarer: each
    /// rank sends at most 32 per heartbeat, because their total grows with the square of the number
    /// of ranks.
    duration period() const noexcept { return (std::max)(heartbeat, heartbeat * (ranks - 1) / 32); }
    /// Allowed silence on a network without delay: dead_after, and at least four periods, which are
    /// longer from 66 ranks on with the defaults.
    duration silence() const noexcept;
};

/// Facts of a rank's system about its connections to another rank.
struct path_facts {
    std::uint64_t segments = 0;  // TCP segments with content that arrived
    duration round_trip{};       // smoothed; includes queues on the way
    duration retransmission{};   // time until lost data is sent again; 0: nothing was lost
    /// True if all data sent to it is acknowledged. A rank's system acknowledges even while its
    /// process hangs.
    bool is_acknowledged = true;
};

/// When another rank last gave a sign of life, and how long it may be silent. Signs of life are its
/// frames and, while these are overdue, any content on any of its connections.
///   math    the limit is s + 4 d + r, at most 3 s. s is dead_after or, if longer in a large job,
///           four periods between signs of life. d is the smoothed round trip without the 200 ms by
///           which a system may delay an acknowledgement. r is the longest time in this silence
///           until the system sends lost data again. It is at least s / 2, and 0 if nothing was
///           lost. The other rank's next attempt may be as late, even after this rank's attempt
///           arrived. Before the first sign of life the limit is first_sign; while a rank settles,
///           3 s
class liveness {
public:
    /// The first sign of life is still to come.
    explicit liveness(duration present) noexcept : last_(present) {}

    /// Records that frames arrived.
    void heard(duration present) noexcept;

    bool is_overdue(duration present, const liveness_options& options) const noexcept;
    /// While frames are overdue: more segments than the last time are a sign of life.
    void observe(const path_facts& path, duration present) noexcept;

    bool is_lost(duration present, const liveness_options& options) const noexcept;

    duration limit(const liveness_options& options) const noexcept;
    /// Measured delay to the rank and back, beyond what a system adds by itself.
    duration delay() const noexcept { return delay_; }

    /// True if its system acknowledges nothing, and its signs of life do not yet span enough time
    /// to know its delay under load.
    bool settles(const liveness_options& options) const noexcept;

    /// Cause of the rank's loss.
    std::string cause(const liveness_options& options) const;

private:
    // Longest delay of an acknowledgement by Linux if its sender has nothing else to send.
    static constexpr duration acknowledged_after = std::chrono::milliseconds(200);

    void note(duration present) noexcept;
    bool waits_for_first(const liveness_options& options) const noexcept;

    duration next_attempt(const liveness_options& options) const noexcept;

    duration last_;
    std::optional<duration> first_{};  // first sign of life
    duration delay_{}, retransmission_{};
    bool is_acknowledged_ = true;
    std::optional<std::uint64_t> segments_{};  // count at the last look, while frames are overdue
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/liveness.ipp"
#endif
