#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/consistency/consistency.hpp"
#include "sotto/consistency/worker_clocks.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

/// The bound on how far a worker may be ahead is chosen anew, within a range, whenever the fastest
/// reaches it: so that it waits as little as can be foreseen.
///   math    at c - min c = lowest, the fastest worker f and the slowest s: from their last two
///           pushes, f would end its r-th round from now at t_f + r d_f, and s its k-th at
///           t_s + k d_s. f is let run that r <= highest - lowest further rounds after which it
///           waits least for s's next; until these are done it does not wait
///   cost    two time stamps a worker
///   source  Zhao et al. 2019, Dynamic Stale Synchronous Parallel Distributed Training for Deep
///           Learning, ICDCS; arXiv:1908.11848
struct dynamic_stale_synchronous {
    int lowest = 2;
    int highest = 6;
    bool averaged = true;

    class state {
    public:
        state(int workers, const dynamic_stale_synchronous& options)
            : lowest_(options.lowest),
              highest_(options.highest),
              averaged_(options.averaged),
              clocks_(workers), pace_(static_cast<std::size_t>(workers)) {}

        void attach(int worker) noexcept {
            clocks_.attach(worker);
            of(worker) = {};
        }
        void detach(int worker) noexcept { clocks_.detach(worker); }

        void pushed(int worker, time_point now) noexcept {
            clocks_.advance(worker);
            pace& p = of(worker);
            p.before = p.last;
            p.last = now;
            p.pushes = std::min(p.pushes + 1, 2);
            if (p.granted > 0) --p.granted;
        }

        bool may_go(int worker, time_point) noexcept {
            const std::int64_t ahead = clocks_.at(worker) - clocks_.slowest();
            if (ahead <= lowest_) {
                of(worker).granted = 0;
                return true;
            }
            if (ahead > highest_) return false;
            if (of(worker).granted > 0) return true;
            if (of(worker).decided_at == clocks_.at(worker)) return false;
            of(worker).decided_at = clocks_.at(worker);
            of(worker).granted = foreseen_rounds(worker, highest_ - ahead + 1);
            return of(worker).granted > 0;
        }

        bool collects() const noexcept { return false; }
        bool round_complete() const noexcept { return false; }
        void end_round() const noexcept {}
        bool is_late(int) const noexcept { return false; }
        double weight() const noexcept {
            return averaged_ ? 1.0 / std::max(1, clocks_.present()) : 1.0;
        }

    private:
        struct pace {
            time_point before{}, last{};
            int pushes = 0;               // of the two that are known
            std::int64_t granted = 0;     // rounds that it may still do
            std::int64_t decided_at = -1;  // its clock when that was last asked

            duration round() const noexcept { return last - before; }
        };

        pace& of(int worker) noexcept { return pace_[static_cast<std::size_t>(worker)]; }

        int slowest() const noexcept {
            int found = 0;
            std::int64_t least = INT64_MAX;
            for (int w = 0; w < static_cast<int>(pace_.size()); ++w)
                if (clocks_.is_present(w) && clocks_.at(w) < least) {
                    least = clocks_.at(w);
                    found = w;
                }
            return found;
        }

        /// Of 0 to `most` further rounds those after which the worker waits least until the slowest
        /// next pushes; of equals the fewest.
        std::int64_t foreseen_rounds(int worker, std::int64_t most) noexcept {
            const pace &fast = of(worker), &slow = of(slowest());
            if (fast.pushes < 2 || slow.pushes < 2 || slow.round() <= duration::zero() ||
                fast.round() <= duration::zero())
                return 0;
            std::int64_t best = 0;
            duration least = duration::max();
            for (std::int64_t r = 0; r <= most; ++r) {
                const time_point ends = fast.last + r * fast.round();
                time_point next = slow.last + slow.round();
                if (next < ends)
                    next += ((ends - next + slow.round() - duration(1)) / slow.round()) *
                            slow.round();
                if (next - ends < least) {
                    least = next - ends;
                    best = r;
                }
            }
            return best;
        }

        int lowest_, highest_;
        bool averaged_;
        detail::worker_clocks clocks_;
        std::vector<pace> pace_;
    };

    state bind(int workers) const {
        if (lowest < 0 || highest < lowest)
            throw invalid_option("dynamic_stale_synchronous: from " + std::to_string(lowest) +
                                 " to " + std::to_string(highest) +
                                 "; 0 <= lowest <= highest is expected");
        return {workers, *this};
    }
    void describe(auto&& field) const {
        field("lowest", lowest);
        field("highest", highest);
        field("averaged", averaged);
    }
};

static_assert(consistency<dynamic_stale_synchronous>);

}  // namespace sotto
