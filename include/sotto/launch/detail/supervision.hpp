#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "sotto/core/clock.hpp"
#include "sotto/launch/detail/ending.hpp"

namespace sotto::detail::launch {

/// How long the ranks of a job may run after a failure.
struct patience {
    /// Time until they get SIGTERM. In this time they notice the failure and report the rank that
    /// failed. Over TCP this takes tcp_options::dead_after if a rank hangs, and no time if its
    /// process ended.
    duration until_terminate = std::chrono::seconds(5);
    duration until_kill = std::chrono::seconds(5);  // from then until SIGKILL
};

/// Decides what to do with the ranks of a job when processes end and signals arrive. It sends
/// nothing itself, and callers pass the time.
///
/// A rank that fails ends the job. The others have `patience` to end by themselves; then signals
/// end them. If they are to keep going, they may run on. A signal from outside is for all ranks.
/// They may then take any time to end, even if it ends some immediately: a rank may be saving its
/// state. A second signal kills them. A rank whose output is incomplete has done its work, and the
/// others keep running.
class supervision {
public:
    /// A job of this many ranks, all running.
    supervision(int size, const patience& given, bool keeps_going = false)
        : running_(size), patience_(given), keeps_going_(keeps_going) {}

    /// Number of ranks that have not ended.
    int running() const noexcept { return running_; }
    /// The failure that counts as the first, if there was one.
    const std::optional<ending>& first_failure() const noexcept { return first_; }
    /// The first failure, or else the first rank whose output is incomplete; nothing if there is
    /// none.
    const std::optional<ending>& outcome() const noexcept { return first_ ? first_ : lacking_; }

    /// Records the processes that ended since the last call. The lowest rank that failed counts as
    /// the first failure.
    ///
    /// A rank whose exit code is `peer` ended because of another rank. A rank that ends otherwise
    /// replaces it as the first failure, while the others are left alone, which is at most
    /// `until_terminate`.
    ///
    /// A rank that a signal ended did not end because of others. Its connections close before its
    /// end is reported, so other ranks may notice and fail earlier. If it ends this little later,
    /// it replaces a first failure that ended by itself.
    void ended(std::span<const ending> together, time_point now);

    /// Records a signal to this process. Returns the signal to send to all ranks now.
    int told(int signal);

    /// Time of the next signal from `due`; nothing if none is planned.
    std::optional<time_point> next() const noexcept;

    /// Signal that all ranks must get at this time, if any.
    std::optional<int> due(time_point now);

private:
    struct plan_of {
        int signal;
        time_point at;
    };

    // From the close of a process's connections to its end, on a busy machine.
    static constexpr duration until_told_of = std::chrono::seconds(1);

    /// True if this ending, `later` after the first known failure, replaces it.
    bool is_the_cause(const ending& one, duration later) const noexcept;

    void plan(int signal, time_point at) { planned_ = plan_of{signal, at}; }

    int running_;
    patience patience_;
    bool keeps_going_;
    std::optional<ending> first_;
    std::optional<ending> lacking_;  // first rank whose output is incomplete
    std::optional<plan_of> planned_;
    time_point failed_{};  // time of the first failure
    bool was_told_ = false;
    bool sent_ = false;  // a signal to all ranks
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/supervision.ipp"
#endif
