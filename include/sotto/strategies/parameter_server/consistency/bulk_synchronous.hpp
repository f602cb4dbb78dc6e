#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.hpp"

namespace sotto {

/// Rounds: the gradients of all workers, at the same parameters, make one step.
///   math    w -= rate * mean of the gradients, or their sum; added up in the order of the workers.
///           The mean is plain: a worker whose batch is shorter counts as much as any other, where
///           all_reduce weighs gradients by examples
///   shape   with b backup workers a round takes the first n - b gradients of the n workers that
///           are there, one at least. Who comes later goes on with the new parameters; its gradient
///           is dropped, which it is told, and which is counted
///   source  backup workers: Chen, Monga, Bengio, Jozefowicz 2016, Revisiting Distributed
///           Synchronous SGD, arXiv:1604.00981
struct bulk_synchronous {
    int backups = 0;       // b: workers that a round may go without
    bool averaged = true;  // whether a round moves by the mean of its gradients, or by their sum

    static constexpr bool in_rounds = true;  // see bulk_consistency

    class state {
    public:
        state(int workers, int backups, bool averaged);

        std::int64_t start(int worker) const noexcept { return clock(worker); }
        void attach(int worker, std::int64_t clock) noexcept { clocks_.attach(worker, clock); }
        void overlook(int worker) noexcept { clocks_.overlook(worker); }
        /// What it gave counts; it is no longer waited for.
        void detach(int worker) noexcept { clocks_.detach(worker); }

        void pushed(int worker, std::int64_t clock, time_point) noexcept;
        /// Once the round of its gradient has ended; of one that an earlier process of it has
        /// given, too.
        bool may_go(int worker, time_point) const noexcept { return !of(worker); }
        std::int64_t clock(int worker) const noexcept;

        bool collects() const noexcept { return true; }
        bool round_complete() const noexcept;
        bool in_round(int worker) const noexcept;
        void end_round() noexcept;
        bool is_late(std::int64_t clock) const noexcept { return backups_ > 0 && clock <= done_; }
        double weight() const noexcept;

    private:
        std::optional<std::int64_t>& of(int worker) noexcept;
        const std::optional<std::int64_t>& of(int worker) const noexcept;

        /// The lowest clock of a gradient that is here.
        std::optional<std::int64_t> next_round() const noexcept;
        /// How many have still to give theirs to this round.
        int due(std::int64_t round) const noexcept;

        int backups_;
        bool averaged_;
        detail::worker_clocks clocks_;
        std::vector<std::optional<std::int64_t>> given_;  // of gradients that wait for their round
        std::int64_t done_ = 0;                           // the last round
    };

    state bind(int workers) const;
    void describe(auto&& field) const {
        field("backups", backups);
        field("averaged", averaged);
    }
};

static_assert(detail::bulk_consistency<bulk_synchronous>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.ipp"
#endif
