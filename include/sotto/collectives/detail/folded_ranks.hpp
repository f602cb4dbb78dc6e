#pragma once

#include <bit>

#include "sotto/collectives/detail/plan.hpp"

namespace sotto::detail::collectives {

/// A plan for P = 2, 4, 8, ... ranks, for any number N of them: P is the largest power of two up to
/// N. First rank r < N-P adds x[r+P]; at the end it sends that rank the sums. In between the first
/// P ranks do what the plan says.
class folded_ranks {
public:
    /// For this rank of so many.
    constexpr folded_ranks(int rank, int world) noexcept
        : rank_(rank),
          core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
          folds_(rank < core_ && rank + core_ < world) {}

    /// This rank.
    constexpr int rank() const noexcept { return rank_; }
    /// P.
    constexpr int core() const noexcept { return core_; }
    /// Log2 P.
    constexpr int levels() const noexcept {
        return std::countr_zero(static_cast<unsigned>(core_));  // log2 P
    }

    /// Where the plan has `inner` steps.
    constexpr int steps(int inner) const noexcept {
        return rank_ >= core_ ? 2 : inner + (folds_ ? 2 : 0);
    }

    /// `step_of(hop)` is the plan's.
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
    bool folds_;  // stands for a rank beyond them too
};

}  // namespace sotto::detail::collectives
