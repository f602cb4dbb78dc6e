#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.hpp"

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
        state(int workers, const dynamic_stale_synchronous& options);

        std::int64_t start(int worker) const noexcept { return clocks_.start(worker); }
        void attach(int worker, std::int64_t clock) noexcept;
        void overlook(int worker) noexcept { clocks_.overlook(worker); }
        void detach(int worker) noexcept { clocks_.detach(worker); }
        void finish(int worker) noexcept { clocks_.finish(worker); }

        void pushed(int worker, std::int64_t clock, time_point now) noexcept;

        bool may_go(int worker, time_point now) noexcept;
        std::int64_t clock(int worker) const noexcept;
        bool collects() const noexcept { return false; }
        bool round_complete() const noexcept { return false; }
        bool in_round(int) const noexcept { return false; }
        void end_round() const noexcept {}
        bool is_late(std::int64_t) const noexcept { return false; }
        double weight() const noexcept;

    private:
        bool decide(int worker) noexcept;

        struct pace {
            time_point went{}, last{};                              // it began its round, it pushed
            duration round{};                                       // the last one; 0: none yet
            std::int64_t granted = 0;                               // rounds that it may still do
            std::pair<std::int64_t, std::int64_t> decided{-1, -1};  // at its and the least clock
        };

        pace& of(int worker) noexcept { return pace_[static_cast<std::size_t>(worker)]; }

        int slowest() const noexcept;

        /// Of 0 to `most` further rounds those after which the worker waits least until the slowest
        /// next pushes; of equals the fewest.
        std::int64_t foreseen_rounds(int worker, std::int64_t most) noexcept;

        int lowest_, highest_;
        bool averaged_;
        detail::worker_clocks clocks_;
        std::vector<pace> pace_;
    };

    state bind(int workers) const;
    void describe(auto&& field) const {
        field("lowest", lowest);
        field("highest", highest);
        field("averaged", averaged);
    }
};

static_assert(consistency<dynamic_stale_synchronous>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.ipp"
#endif
