#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"

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
/// Ranks are threads of which exactly one runs, until it sleeps. Then what comes first goes on: by
/// time, then happenings in the order in which they were told, then ranks in their own order. So
/// nothing depends on how the system schedules threads, and no state that only ranks and happenings
/// touch needs a lock.
///   cost    a happening 0.1 us, a change of ranks the 5 us of two threads that wake each other; a
///           rank that sleeps until a time before which nothing else is to happen just goes on
///   errors  std::logic_error: all ranks sleep, and nothing would ever wake one
class virtual_time {
public:
    explicit virtual_time(int ranks) {
        for (int rank = 0; rank < ranks; ++rank) sleepers_.push_back(std::make_unique<sleeper>());
    }
    virtual_time(const virtual_time&) = delete;
    virtual_time& operator=(const virtual_time&) = delete;

    time_point now() const noexcept { return now_; }

    /// Calls target.happen(what) at that time, or now if it is past.
    void tell(time_point when, happening& target, std::uint64_t what) {
        queue_.push({std::max(when, now_), 0, ++told_, &target, what});
    }

    // For the rank that runs

    /// Sleeps until that time, or until it is woken.
    void sleep(int rank, time_point until) {
        sleeper& own = of(rank);
        if (own.is_killed) return;  // it only unwinds
        own.woken = false;
        go_on(rank, until);
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
        go_on(rank, now_);
    }

    /// The rank does nothing before that time, as if its process had been stopped.
    void freeze(int rank, time_point until) noexcept {
        of(rank).frozen_until = std::max(of(rank).frozen_until, until);
    }
    time_point frozen_until(int rank) const noexcept { return of(rank).frozen_until; }

    /// What the rank waits for throws `killed`.
    void kill(int rank) {
        of(rank).is_killed = true;
        of(rank).is_deaf = false;
        of(rank).frozen_until = {};
        wake(rank);
    }

    /// The rank's code has ended, and runs anew.
    void revive(int rank) noexcept { of(rank).is_killed = false; }

    // For whoever has the ranks

    /// Runs body(rank) for all ranks, each on a thread of its own; returns when all have returned.
    /// A body throws nothing.
    template <class Body>
    void run(Body body) {
        std::vector<std::jthread> threads;
        threads.reserve(sleepers_.size());
        left_ = sleepers_.size();
        for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank) {
            of(rank).is_asleep = true;
            go_on(rank, now_);
        }
        for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank)
            threads.emplace_back([this, rank, &body] {
                of(rank).turn.acquire();
                of(rank).is_asleep = false;
                body(rank);
                if (--left_ > 0) next()->turn.release();
            });
        next()->turn.release();
    }

private:
    struct sleeper {
        std::binary_semaphore turn{0};
        std::uint64_t sleeps = 0;  // tells its present sleep from those before
        bool is_asleep = false;
        bool is_deaf = false;
        bool woken = false;
        bool is_killed = false;
        time_point frozen_until{};
    };

    struct entry {
        time_point when;
        std::uint64_t rank_plus_1;  // 0: a happening
        std::uint64_t order;        // of happenings; of a rank, which of its sleeps
        happening* target;
        std::uint64_t what;

        friend bool operator>(const entry& a, const entry& b) noexcept {
            if (a.when != b.when) return a.when > b.when;
            if (a.rank_plus_1 != b.rank_plus_1) return a.rank_plus_1 > b.rank_plus_1;
            return a.order > b.order;
        }
    };

    sleeper& of(int rank) noexcept { return *sleepers_[static_cast<std::size_t>(rank)]; }
    const sleeper& of(int rank) const noexcept {
        return *sleepers_[static_cast<std::size_t>(rank)];
    }

    void go_on(int rank, time_point when) {
        queue_.push({std::max(when, now_), static_cast<std::uint64_t>(rank) + 1, of(rank).sleeps,
                     nullptr, 0});
    }

    /// Lets others have their turn until the rank's own comes.
    void pass(int rank) {
        sleeper& own = of(rank);
        own.is_asleep = true;
        if (sleeper* const chosen = next(); chosen != &own) {
            chosen->turn.release();
            own.turn.acquire();
        }
        own.is_asleep = false;
    }

    /// Lets happen what is before the next rank's turn, and chooses that rank.
    sleeper* next() {
        while (!queue_.empty()) {
            const entry first = queue_.top();
            queue_.pop();
            if (first.rank_plus_1 == 0) {
                now_ = first.when;
                first.target->happen(first.what);
                continue;
            }
            const int rank = static_cast<int>(first.rank_plus_1 - 1);
            sleeper& s = of(rank);
            if (first.order != s.sleeps || !s.is_asleep) continue;  // of a sleep that has ended
            if (first.when < s.frozen_until) {
                go_on(rank, s.frozen_until);
                continue;
            }
            now_ = first.when;
            ++s.sleeps;
            return &s;
        }
        throw std::logic_error("simulated: all ranks sleep, and nothing will wake one");
    }

    std::vector<std::unique_ptr<sleeper>> sleepers_;
    std::priority_queue<entry, std::vector<entry>, std::greater<entry>> queue_;
    time_point now_{};
    std::uint64_t told_ = 0;
    std::size_t left_ = 0;
};

}  // namespace sotto::detail::simulation
