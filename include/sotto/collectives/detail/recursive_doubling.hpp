#pragma once

#include <cstdint>

#include "sotto/collectives/detail/folded_ranks.hpp"
#include "sotto/collectives/detail/plan.hpp"

namespace sotto::detail::collectives {

/// Partners exchange all that they have summed so far, at twice the distance each time. For values
/// so few that only the number of steps counts.
///   math    among the P ranks of folded_ranks, for the distances d = 1, 2, 4, ..., P/2, both
///           partners compute s[r] + s[r xor d]. They get the same bits, since a + b = b + a. Only
///           in fp32: a partner would send rounded values but add its own unrounded ones
///   cost    log2 P steps with all values in each. If N > P there are two more steps, in which
///           ranks from P on and their partners send all values once
///   source  Thakur, Rabenseifner, Gropp 2005, Optimization of Collective Communication Operations
///           in MPICH
class recursive_doubling_plan {
public:
    static constexpr bool adds = true;

    /// Plan of one rank in a world of this size.
    constexpr recursive_doubling_plan(int rank, int world) noexcept : ranks_(rank, world) {}

    constexpr void begin(std::int64_t n) noexcept { all_ = {0, n}; }

    constexpr int steps() const noexcept { return ranks_.steps(ranks_.levels()); }

    constexpr step at(int k) const noexcept {
        return ranks_.at(k, ranks_.levels(), all_, [this](int hop) -> step {
            const int partner = ranks_.rank() ^ (1 << hop);
            return {partner, all_, partner, all_, arrival::add};
        });
    }

private:
    folded_ranks ranks_;
    range all_;
};

}  // namespace sotto::detail::collectives
