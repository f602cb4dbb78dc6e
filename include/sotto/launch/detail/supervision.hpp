#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "sotto/core/clock.hpp"
#include "sotto/launch/detail/ending.hpp"

namespace sotto::detail::launch {

/// How long the ranks of a job may go on once one of them failed.
struct patience {
    /// Until they get SIGTERM: they notice by themselves, and say whom they miss. Over TCP that
    /// takes tcp_options::dead_after where a rank hangs, and no time where it is gone.
    duration until_terminate = std::chrono::seconds(5);
    duration until_kill = std::chrono::seconds(5);  // from then on until SIGKILL
};

/// What is to be done with the ranks of a job, from how they end and what signals come: it sends
/// nothing itself, and is told the time.
///
/// A rank that fails ends the job: the others are left `patience` to end by themselves, then they
/// are made to, unless they are to keep going, for as long as they like. A signal from outside goes
/// to all ranks, which may take as long as they like to end, also when it ends some of them at
/// once: one may save what was learnt. A second one kills them. A rank whose output is incomplete
/// has done its work, and the others go on.
class supervision {
public:
    /// A job of so many ranks, all of which run.
    supervision(int size, const patience& given, bool keeps_going = false)
        : running_(size), patience_(given), keeps_going_(keeps_going) {}

    /// Ranks that have not ended.
    int running() const noexcept { return running_; }
    /// The failure that counts as the first, if there was one.
    const std::optional<ending>& first_failure() const noexcept { return first_; }
    /// That one, or else the first rank whose output is incomplete; nothing if there is none.
    const std::optional<ending>& outcome() const noexcept { return first_ ? first_ : lacking_; }

    /// These ended since the last time; the lowest that failed counts as the first.
    ///
    /// A rank whose exit code is `peer` ended because of another. One that ends otherwise counts as
    /// the first in its place, as long as the others are left alone, which is at most
    /// `until_terminate`.
    ///
    /// A rank that a signal ended did not end because of others. Its connections are closed before
    /// it is told of, so that others may have noticed, and failed by it, sooner: one that a signal
    /// ended so little later counts as the first in place of one that ended by itself.
    void ended(std::span<const ending> together, time_point now);

    /// A signal came: which one to send to all ranks now.
    int told(int signal);

    /// When `due` will have something to say, as things are.
    std::optional<time_point> next() const noexcept;

    /// The signal that all ranks are to get, now that it is so late.
    std::optional<int> due(time_point now);

private:
    struct plan_of {
        int signal;
        time_point at;
    };

    // From a process's closed connections to its end, on a busy machine.
    static constexpr duration until_told_of = std::chrono::seconds(1);

    /// In place of the first failure that is known, so much later.
    bool is_the_cause(const ending& one, duration later) const noexcept;

    void plan(int signal, time_point at) { planned_ = plan_of{signal, at}; }

    int running_;
    patience patience_;
    bool keeps_going_;
    std::optional<ending> first_;
    std::optional<ending> lacking_;  // the first whose output is incomplete
    std::optional<plan_of> planned_;
    time_point failed_{};  // when the first did
    bool was_told_ = false;
    bool sent_ = false;  // a signal to all of them
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/supervision.ipp"
#endif
