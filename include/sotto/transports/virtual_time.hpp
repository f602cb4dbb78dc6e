#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/transports/rank_queue.hpp"
#include "sotto/transports/strand.hpp"

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
///           strand's turn costs; a rank that sleeps until a time before which nothing else is to
///           happen just goes on
///   errors  std::logic_error: all ranks sleep, and nothing would ever wake one
class virtual_time {
public:
    explicit virtual_time(int ranks) : turns_(ranks) {
        for (int rank = 0; rank < ranks; ++rank) sleepers_.push_back(std::make_unique<sleeper>());
    }
    virtual_time(const virtual_time&) = delete;
    virtual_time& operator=(const virtual_time&) = delete;

    time_point now() const noexcept { return now_; }

    /// Calls target.happen(what) at that time, or now if it is past.
    void tell(time_point when, happening& target, std::uint64_t what) {
        told_.push({std::max(when, now_), ++count_told_, &target, what});
    }

    // For the rank that runs

    /// Sleeps until that time, or until it is woken.
    void sleep(int rank, time_point until) {
        sleeper& own = of(rank);
        if (own.is_killed) return;  // it only unwinds
        own.woken = false;
        turns_.set(rank, std::max(until, now_));
        pass(rank);
        if (own.is_killed) {
            own.is_deaf = false;
            throw killed();
        }
    }

    /// Sleeps until that time, whoever would wake it.
    void work(int rank, time_point until) {
        of(rank).is_deaf = true;
        sleep(rank, until);
        of(rank).is_deaf = false;
    }

    bool is_killed(int rank) const noexcept { return of(rank).is_killed; }

    // For happenings, and whoever runs

    /// Who sleeps goes on now.
    void wake(int rank) {
        sleeper& s = of(rank);
        if (!s.is_asleep || s.is_deaf || s.woken) return;
        s.woken = true;
        turns_.set(rank, now_);
    }

    /// The rank does nothing before that time, as if its process had been stopped.
    void freeze(int rank, time_point until) noexcept {
        of(rank).frozen_until = std::max(of(rank).frozen_until, until);
    }
    time_point frozen_until(int rank) const noexcept { return of(rank).frozen_until; }

    /// What the rank waits for throws `killed`.
    void kill(int rank) {
        sleeper& s = of(rank);
        s.is_killed = true;
        s.is_deaf = s.woken = false;  // frozen, it may have been woken in vain
        s.frozen_until = {};
        wake(rank);
    }

    /// The rank's code has ended, and runs anew.
    void revive(int rank) noexcept { of(rank).is_killed = false; }

    // For whoever has the ranks

    /// Runs body(rank) for all ranks, each on a stack of its own; returns when all have returned.
    /// A body throws nothing.
    template <class Body>
    void run(Body body) {
        left_ = sleepers_.size();
        strand here;
        for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank) {
            of(rank).is_asleep = true;
            turns_.set(rank, now_);
            of(rank).code.start([this, rank, &body, &here]() -> strand* {
                of(rank).is_asleep = false;
                body(rank);
                return --left_ > 0 ? &next()->code : &here;
            });
        }
        if (left_ > 0) here.give_to(next()->code);
    }

    /// Once all ranks have ended: lets happen what was told and has not happened.
    void settle() {
        while (!told_.empty()) let_happen();
    }

private:
    struct sleeper {
        strand code;
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
    const sleeper& of(int rank) const noexcept {
        return *sleepers_[static_cast<std::size_t>(rank)];
    }

    /// Lets others have their turn until the rank's own comes.
    void pass(int rank) {
        sleeper& own = of(rank);
        own.is_asleep = true;
        if (sleeper* const chosen = next(); chosen != &own) own.code.give_to(chosen->code);
        own.is_asleep = false;
    }

    void let_happen() {
        const told first = told_.top();
        told_.pop();
        now_ = first.when;
        first.target->happen(first.what);
    }

    /// Lets happen what is before the next rank's turn, and chooses that rank.
    sleeper* next() {
        while (!told_.empty() || !turns_.empty()) {
            if (turns_.empty() || (!told_.empty() && told_.top().when <= turns_.time_of_first())) {
                let_happen();
                continue;
            }
            const int rank = turns_.first();
            sleeper& s = of(rank);
            if (turns_.time_of_first() < s.frozen_until) {
                turns_.set(rank, s.frozen_until);
                continue;
            }
            now_ = turns_.time_of_first();
            turns_.remove_first();
            return &s;
        }
        throw std::logic_error("simulated: all ranks sleep, and nothing will wake one");
    }

    std::vector<std::unique_ptr<sleeper>> sleepers_;
    rank_queue turns_;  // when each sleeper goes on
    std::priority_queue<told, std::vector<told>, std::greater<told>> told_;
    time_point now_{};
    std::uint64_t count_told_ = 0;
    std::size_t left_ = 0;
};

}  // namespace sotto::detail::simulation
