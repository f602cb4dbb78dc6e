#pragma once

#include <cstdint>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.hpp"

namespace sotto {

/// A worker may be at most so many rounds ahead of the slowest.
///   math    a worker that has done c rounds begins the next iff c - min c <= bound; what it then
///           reads has all updates of the first c - bound rounds, and its own. With bound 0 these
///           are the rounds of bulk_synchronous, and it is the same to the last bit
///   shape   each gradient makes a step as it comes, of its full weight or, averaged, of 1/n among
///           n workers: then a round of all workers moves as far as one of bulk_synchronous. A
///           worker that has done all its rounds still counts in each round it sent a gradient to.
///           With bound 0 gradients are summed or averaged likewise
///   source  Ho et al. 2013, More Effective Distributed ML via a Stale Synchronous Parallel
///           Parameter Server, NeurIPS
struct stale_synchronous {
    int bound = 3;         // rounds ahead of the slowest
    bool averaged = true;  // whether a gradient counts 1/n among n workers, or in full

    class state {
    public:
        state(int workers, const stale_synchronous& options);

        std::int64_t start(int worker) const noexcept;
        void attach(int worker, std::int64_t clock) noexcept;
        void overlook(int worker) noexcept;
        void detach(int worker) noexcept;
        void finish(int worker) noexcept;
        void pushed(int worker, std::int64_t clock, time_point now) noexcept;
        bool may_go(int worker, time_point now) noexcept;
        std::int64_t clock(int worker) const noexcept;
        bool collects() const noexcept { return bound_ == 0; }
        bool round_complete() const noexcept { return rounds_.round_complete(); }
        bool in_round(int worker) const noexcept { return rounds_.in_round(worker); }
        void end_round() noexcept { rounds_.end_round(); }
        bool is_late(std::int64_t clock) const noexcept;
        double weight() const noexcept;

    private:
        int bound_;
        bool averaged_;
        bulk_synchronous::state rounds_;
        detail::worker_clocks clocks_;
    };

    state bind(int workers) const;
    void describe(auto&& field) const {
        field("bound", bound);
        field("averaged", averaged);
    }
};

static_assert(consistency<stale_synchronous>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.ipp"
#endif
