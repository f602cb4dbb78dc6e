#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/simulated/rank_queue.hpp"
#include "sotto/transports/detail/simulated/strand.hpp"

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
///   errors  std::logic_error, of who sleeps last, or of `run` once no rank is left that could go
///           on: all ranks sleep for ever, and nothing would wake one
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
        told_.push({(std::max)(when, now_), ++count_told_, &target, what});
    }

    // For the rank that runs

    /// Sleeps until that time, or until it is woken; (time_point::max)() is never.
    void sleep(int rank, time_point until) {
        sleeper& own = of(rank);
        if (own.is_killed) return;  // it only unwinds
        own.woken = false;
        turns_.set(rank, (std::max)(until, now_));
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

    /// The rank does nothing before that time, as if its process had been stopped: what it works
    /// on ends as much later.
    void freeze(int rank, time_point until) noexcept {
        sleeper& s = of(rank);
        const time_point thaws = (std::max)(s.frozen_until, now_);
        if (until <= thaws) return;
        s.frozen_until = until;
        if (s.is_asleep && s.is_deaf) turns_.set(rank, turns_.time_of(rank) + (until - thaws));
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
    /// A body throws nothing. What is thrown where no rank runs is thrown here, once all ranks have
    /// unwound as if they were killed.
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
                --left_;
                return &first_of_those_left(here);
            });
        }
        if (strand& first = first_of_those_left(here); &first != &here) here.give_to(first);
        if (stopped_by_) std::rethrow_exception(std::exchange(stopped_by_, nullptr));
    }

    /// Whether what was thrown where no rank runs ends all ranks.
    bool is_stopped() const noexcept { return stopped_by_ != nullptr; }

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

    strand& first_of_those_left(strand& otherwise) {
        while (left_ > 0) try {
                return next()->code;
            } catch (...) {
                if (!stopped_by_) stopped_by_ = std::current_exception();
                for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank)
                    if (of(rank).is_asleep) kill(rank);
            }
        return otherwise;
    }

    /// Lets others have their turn until the rank's own comes.
    void pass(int rank) {
        sleeper& own = of(rank);
        own.is_asleep = true;
        try {
            if (sleeper* const chosen = next(); chosen != &own) own.code.give_to(chosen->code);
        } catch (...) {
            own.is_asleep = false;
            turns_.remove(rank);
            throw;
        }
        own.is_asleep = false;
    }

    bool is_anybody_to_go_on() const noexcept {
        return !turns_.empty() && turns_.time_of_first() < (time_point::max)();
    }

    void let_happen() {
        const told first = told_.top();
        told_.pop();
        now_ = first.when;
        first.target->happen(first.what);
    }

    /// Lets happen what is before the next rank's turn, and chooses that rank.
    sleeper* next() {
        while (!told_.empty() || is_anybody_to_go_on()) {
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
    std::exception_ptr stopped_by_{};
};

}  // namespace sotto::detail::simulation
