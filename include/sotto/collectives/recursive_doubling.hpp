#pragma once

#include <bit>
#include <cstdint>

#include "sotto/collectives/plan.hpp"
#include "sotto/collectives/planned.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::collectives {

/// Partners give each other all that they have summed so far, at twice the distance each time. For
/// what is so small that only steps count.
///   math    P = the largest power of two up to N. First rank r < N-P adds x[r+P]. Then, for the
///           distances d = 1, 2, 4, ..., P/2, both partners compute s[r] + s[r xor d]: the same
///           bits, since a + b = b + a. Only in fp32: what one partner rounds to send, it would add
///           itself unrounded
///   cost    log2 P steps with all values in each; if N > P two steps more, in which ranks from P
///           on and their partners send all values once
///   source  Thakur, Rabenseifner, Gropp 2005, Optimization of Collective Communication Operations
///           in MPICH
class recursive_doubling_plan {
public:
    static constexpr bool adds = true;

    constexpr recursive_doubling_plan(int rank, int world) noexcept
        : rank_(rank),
          core_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
          levels_(std::countr_zero(static_cast<unsigned>(core_))),
          folds_(rank < core_ && rank + core_ < world) {}

    constexpr void begin(std::int64_t n) noexcept { all_ = {0, n}; }

    constexpr int steps() const noexcept { return rank_ >= core_ ? 2 : levels_ + (folds_ ? 2 : 0); }

    constexpr step at(int k) const noexcept {
        if (rank_ >= core_) {
            if (k == 0) return {rank_ - core_, all_, nobody, {}, {}};
            return {nobody, {}, rank_ - core_, all_, arrival::replace};
        }
        if (folds_ && k == 0) return {nobody, {}, rank_ + core_, all_, arrival::add};
        if (folds_ && k == steps() - 1) return {rank_ + core_, all_, nobody, {}, {}};
        const int partner = rank_ ^ (1 << (folds_ ? k - 1 : k));
        return {partner, all_, partner, all_, arrival::add};
    }

private:
    int rank_;
    int core_;    // ranks that have partners
    int levels_;  // log2 of that
    bool folds_;  // stands for a rank outside of the core too
    range all_;
};

}  // namespace sotto::collectives
