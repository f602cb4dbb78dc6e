#pragma once

#include <bit>

#include "sotto/collectives/detail/plan.hpp"

namespace sotto::detail::collectives {

/// Applies a plan for P = 2, 4, 8, ... ranks to any number N of ranks. P is the largest power of
/// two up to N. First, each rank r < N-P adds x[r+P]; at the end it sends the sums to rank r+P. In
/// between, the first P ranks follow the plan.
class folded_ranks {
public:
    /// For one rank in a world of this size.
    constexpr folded_ranks(int rank, int world) noexcept
        : rank_(rank),
          core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
          folds_(rank < core_ && rank + core_ < world) {}

    /// This rank.
    constexpr int rank() const noexcept { return rank_; }
    /// P, the number of ranks that follow the plan.
    constexpr int core() const noexcept { return core_; }
    /// Log2 P.
    constexpr int levels() const noexcept { return std::countr_zero(static_cast<unsigned>(core_)); }

    /// Number of steps of this rank if the plan has `inner` steps.
    constexpr int steps(int inner) const noexcept {
        return rank_ >= core_ ? 2 : inner + (folds_ ? 2 : 0);
    }

    /// Step k of this rank; `step_of(hop)` returns a step of the plan.
    template <class StepOf>
    constexpr step at(int k, int inner, range all, StepOf&& step_of) const noexcept {
        if (rank_ >= core_) {
            if (k == 0) return {rank_ - core_, all, nobody, {}, {}};
            return {nobody, {}, rank_ - core_, all, arrival::replace};
        }
        if (!folds_) return step_of(k);
        if (k == 0) return {nobody, {}, rank_ + core_, all, arrival::add};
        if (k == inner + 1) return {rank_ + core_, all, nobody, {}, {}};
        return step_of(k - 1);
    }

private:
    int rank_;
    int core_;    // P
    bool folds_;  // true: also acts for a rank beyond P
};

}  // namespace sotto::detail::collectives
