#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/simulated/rank_queue.hpp"
#include "sotto/transports/detail/simulated/fiber.hpp"

namespace sotto::detail::simulation {

/// Something that virtual_time calls at a time passed to `tell`.
class happening {
public:
    /// `what`: the number passed to `tell`.
    virtual void happen(std::uint64_t what) = 0;

protected:
    ~happening() = default;
};

/// Thrown through the code of a rank whose process has ended. It is no std::exception: nothing
/// reports it, because the process does not exist any more.
struct killed {};

/// Time that passes only when everything at the present time is done.
///
/// Ranks are fibers. Exactly one runs, until it sleeps. Then the earliest continues: by time, then
/// happenings in the order of `tell`, then ranks in rank order. So nothing depends on how the
/// system schedules threads. State that only ranks and happenings access needs no lock.
///   cost    a happening 0.1 us, more if many are pending; a change of ranks costs a fiber's turn.
///           A rank that sleeps until a time before which nothing else happens simply continues
///   errors  std::logic_error, from the rank that sleeps last, or from `run` once no rank is left
///           that could continue: all ranks sleep forever, and nothing would wake one
class virtual_time {
public:
    explicit virtual_time(int ranks);
    virtual_time(const virtual_time&) = delete;
    virtual_time& operator=(const virtual_time&) = delete;

    time_point now() const noexcept { return now_; }

    /// Calls target.happen(what) at that time, or now if it has passed.
    void tell(time_point when, happening& target, std::uint64_t what);

    // For the running rank

    /// Sleeps until that time, or until it is woken; (time_point::max)() is never.
    void sleep(int rank, time_point until);

    /// Sleeps until that time; nothing can wake it before.
    void work(int rank, time_point until);

    bool is_killed(int rank) const noexcept { return of(rank).is_killed; }

    // For happenings, and the running rank

    /// Wakes a sleeping rank now.
    void wake(int rank);

    /// Stops the rank until that time, as if its process had been stopped. Its present work ends
    /// later by the same time.
    void freeze(int rank, time_point until) noexcept;
    time_point frozen_until(int rank) const noexcept { return of(rank).frozen_until; }

    /// Ends a rank: its present wait throws `killed`.
    void kill(int rank);

    /// Lets a rank run again after its code has ended.
    void revive(int rank) noexcept { of(rank).is_killed = false; }

    // For the owner of the ranks

    /// Runs body(rank) for all ranks, each on its own stack. Returns when all have returned. A body
    /// must not throw. An exception thrown while no rank runs is rethrown here, once all ranks have
    /// unwound as if they were killed.
    template <class Body>
    void run(Body body) {
        left_ = sleepers_.size();
        fiber here;
        for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank) {
            of(rank).is_asleep = true;
            turns_.set(rank, now_);
            of(rank).code.start([this, rank, &body, &here]() -> fiber* {
                of(rank).is_asleep = false;
                body(rank);
                --left_;
                return &first_of_those_left(here);
            });
        }
        if (fiber& first = first_of_those_left(here); &first != &here) here.give_to(first);
        if (stopped_by_) std::rethrow_exception(std::exchange(stopped_by_, nullptr));
    }

    /// True if an exception thrown while no rank runs ends all ranks.
    bool is_stopped() const noexcept { return stopped_by_ != nullptr; }

    /// Runs all pending happenings, once all ranks have ended.
    void settle();

private:
    struct sleeper {
        fiber code;
        bool is_asleep = false;
        bool is_deaf = false;
        bool woken = false;
        bool is_killed = false;
        time_point frozen_until{};
    };

    struct told {
        time_point when;
        std::uint64_t order;
        happening* target;
        std::uint64_t what;

        friend bool operator>(const told& a, const told& b) noexcept {
            return a.when != b.when ? a.when > b.when : a.order > b.order;
        }
    };

    sleeper& of(int rank) noexcept { return *sleepers_[static_cast<std::size_t>(rank)]; }
    const sleeper& of(int rank) const noexcept;

    fiber& first_of_those_left(fiber& otherwise);

    /// Lets others run until the rank's own turn.
    void pass(int rank);

    bool is_anybody_to_go_on() const noexcept;

    void let_happen();

    /// Runs the happenings before the next rank's turn, and returns that rank.
    sleeper* next();

    std::vector<std::unique_ptr<sleeper>> sleepers_;
    rank_queue turns_;  // when each sleeper continues
    std::priority_queue<told, std::vector<told>, std::greater<told>> told_;
    time_point now_{};
    std::uint64_t count_told_ = 0;
    std::size_t left_ = 0;
    std::exception_ptr stopped_by_{};
};

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/simulated/virtual_time.ipp"
#endif
