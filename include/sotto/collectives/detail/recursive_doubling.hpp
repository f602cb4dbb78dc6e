#pragma once

#include <cstdint>

#include "sotto/collectives/detail/folded_ranks.hpp"
#include "sotto/collectives/detail/plan.hpp"

namespace sotto::detail::collectives {

/// Partners give each other all that they have summed so far, at twice the distance each time. For
/// what is so small that only steps count.
///   math    among the P ranks of folded_ranks, for the distances d = 1, 2, 4, ..., P/2, both
///           partners compute s[r] + s[r xor d]: the same bits, since a + b = b + a. Only in fp32:
///           what one partner rounds to send, it would add itself unrounded
///   cost    log2 P steps with all values in each; if N > P two steps more, in which ranks from P
///           on and their partners send all values once
///   source  Thakur, Rabenseifner, Gropp 2005, Optimization of Collective Communication Operations
///           in MPICH
class recursive_doubling_plan {
public:
    static constexpr bool adds = true;

    /// What this rank of so many does.
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
