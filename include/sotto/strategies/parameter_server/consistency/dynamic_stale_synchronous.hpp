#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

/// The bound on how far a worker may be ahead is chosen anew, within a range, whenever one gets
/// beyond its lower end: so that it waits as little as can be foreseen.
///   math    at c - min c > lowest, such a worker f and the slowest s: with the last push of each
///           at t and the time d that its last round took, without waiting, f would end its r-th
///           round from now at t_f + r d_f, and s its k-th at t_s + k d_s. f is let run those r
///           further rounds, up to highest ahead, after which it waits least for s's next; until
///           they are done it does not wait
///   cost    two time stamps a worker. The published method takes the time between two pushes for a
///           round, in which f has waited
///   source  Zhao et al. 2019, Dynamic Stale Synchronous Parallel Distributed Training for Deep
///           Learning, ICDCS; arXiv:1908.11848
struct dynamic_stale_synchronous {
    int lowest = 2;        // rounds ahead that are always allowed
    int highest = 6;       // rounds ahead that are never exceeded; lowest to 65536
    bool averaged = true;  // as that of stale_synchronous

    static constexpr int highest_max = 65536;  // all up to `highest` are tried for each grant

    class state {
    public:
        state(int workers, const dynamic_stale_synchronous& options)
            : lowest_(options.lowest),
              highest_(options.highest),
              averaged_(options.averaged),
              clocks_(workers),
              pace_(static_cast<std::size_t>(workers)) {}

        std::int64_t start(int worker) const noexcept { return clocks_.start(worker); }
        void attach(int worker, std::int64_t clock) noexcept {
            clocks_.attach(worker, clock);
            of(worker) = {};
        }
        void overlook(int worker) noexcept { clocks_.overlook(worker); }
        void detach(int worker) noexcept { clocks_.detach(worker); }
        void finish(int worker) noexcept { clocks_.finish(worker); }

        void pushed(int worker, std::int64_t clock, time_point now) noexcept {
            clocks_.push(worker, clock);
            pace& p = of(worker);
            p.last = now;
            p.round = now - p.went;
            if (p.granted > 0) --p.granted;
        }

        bool may_go(int worker, time_point now) noexcept {
            const bool may = decide(worker);
            if (may) of(worker).went = now;
            return may;
        }
        std::int64_t clock(int worker) const noexcept {
            return clocks_.at_least(worker, highest_ + 1);
        }
        bool collects() const noexcept { return false; }
        bool round_complete() const noexcept { return false; }
        bool in_round(int) const noexcept { return false; }
        void end_round() const noexcept {}
        bool is_late(std::int64_t) const noexcept { return false; }
        double weight() const noexcept {
            return averaged_ ? 1.0 / (std::max)(1, clocks_.sharing()) : 1.0;
        }

    private:
        bool decide(int worker) noexcept {
            const std::int64_t ahead = clocks_.at(worker) - clocks_.slowest();
            if (ahead <= lowest_) {
                of(worker).granted = 0;
                return true;
            }
            if (ahead > highest_) return false;
            if (of(worker).granted > 0) return true;
            const std::pair decided{clocks_.at(worker), clocks_.slowest()};
            if (std::exchange(of(worker).decided, decided) == decided) return false;
            of(worker).granted = foreseen_rounds(worker, highest_ - ahead + 1);
            return of(worker).granted > 0;
        }

        struct pace {
            time_point went{}, last{};                              // it began its round, it pushed
            duration round{};                                       // the last one; 0: none yet
            std::int64_t granted = 0;                               // rounds that it may still do
            std::pair<std::int64_t, std::int64_t> decided{-1, -1};  // at its and the least clock
        };

        pace& of(int worker) noexcept { return pace_[static_cast<std::size_t>(worker)]; }

        int slowest() const noexcept {
            int found = 0;
            std::int64_t least = INT64_MAX;
            for (int w = 0; w < static_cast<int>(pace_.size()); ++w)
                if (clocks_.is_waited_for(w) && clocks_.at(w) < least) {
                    least = clocks_.at(w);
                    found = w;
                }
            return found;
        }

        /// Of 0 to `most` further rounds those after which the worker waits least until the slowest
        /// next pushes; of equals the fewest.
        std::int64_t foreseen_rounds(int worker, std::int64_t most) noexcept {
            const pace &fast = of(worker), &slow = of(slowest());
            if (slow.round <= duration::zero() || fast.round <= duration::zero()) return 0;
            std::int64_t best = 0;
            duration least = (duration::max)();
            for (std::int64_t r = 0; r <= most; ++r) {
                const time_point ends = fast.last + r * fast.round;
                time_point next = slow.last + slow.round;
                if (next < ends)
                    next += ((ends - next + slow.round - duration(1)) / slow.round) * slow.round;
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
        require_option("dynamic_stale_synchronous", "lowest", lowest,
                       detail::allowed::at_least(0).at_most(highest_max));
        require_option("dynamic_stale_synchronous", "highest", highest,
                       detail::allowed::at_least(lowest).at_most(highest_max));
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
