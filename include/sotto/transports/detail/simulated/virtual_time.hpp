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

/// What happens at a time that was told to virtual_time.
class happening {
public:
    /// `what`: the number that it was told with.
    virtual void happen(std::uint64_t what) = 0;

protected:
    ~happening() = default;
};

/// Thrown through the code of a rank whose process is no more. It is no std::exception: nothing is
/// to be told about it, since nobody is there who could.
struct killed {};

/// Time that passes only once everybody has done what there is to do at the present one.
///
/// Ranks are strands of which exactly one runs, until it sleeps. Then what comes first goes on: by
/// time, then happenings in the order in which they were told, then ranks in their own order. So
/// nothing depends on how the system schedules threads, and no state that only ranks and happenings
/// touch needs a lock.
///   cost    a happening 0.1 us, more where many are told beforehand; a change of ranks what a
///           fiber's turn costs; a rank that sleeps until a time before which nothing else is to
///           happen just goes on
///   errors  std::logic_error, of who sleeps last, or of `run` once no rank is left that could go
///           on: all ranks sleep for ever, and nothing would wake one
class virtual_time {
public:
    explicit virtual_time(int ranks);
    virtual_time(const virtual_time&) = delete;
    virtual_time& operator=(const virtual_time&) = delete;

    time_point now() const noexcept { return now_; }

    /// Calls target.happen(what) at that time, or now if it is past.
    void tell(time_point when, happening& target, std::uint64_t what);

    // For the rank that runs

    /// Sleeps until that time, or until it is woken; (time_point::max)() is never.
    void sleep(int rank, time_point until);

    /// Sleeps until that time, whoever would wake it.
    void work(int rank, time_point until);

    bool is_killed(int rank) const noexcept { return of(rank).is_killed; }

    // For happenings, and whoever runs

    /// Who sleeps goes on now.
    void wake(int rank);

    /// The rank does nothing before that time, as if its process had been stopped: what it works
    /// on ends as much later.
    void freeze(int rank, time_point until) noexcept;
    time_point frozen_until(int rank) const noexcept { return of(rank).frozen_until; }

    /// What the rank waits for throws `killed`.
    void kill(int rank);

    /// The rank's code has ended, and runs anew.
    void revive(int rank) noexcept { of(rank).is_killed = false; }

    // For whoever has the ranks

    /// Runs body(rank) for all ranks, each on a stack of its own; returns when all have returned.
    /// A body throws nothing. What is thrown where no rank runs is thrown here, once all ranks have
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

    /// Whether what was thrown where no rank runs ends all ranks.
    bool is_stopped() const noexcept { return stopped_by_ != nullptr; }

    /// Once all ranks have ended: lets happen what was told and has not happened.
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

    /// Lets others have their turn until the rank's own comes.
    void pass(int rank);

    bool is_anybody_to_go_on() const noexcept;

    void let_happen();

    /// Lets happen what is before the next rank's turn, and chooses that rank.
    sleeper* next();

    std::vector<std::unique_ptr<sleeper>> sleepers_;
    rank_queue turns_;  // when each sleeper goes on
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
