#pragma once

#include "sotto/strategies/detail/gossip/sum_coordinator.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void sum_coordinator::stands(int rank, const wire::gossip_place& at, bool waits,
                                        const wire::gossip_sums& own) noexcept {
    of(rank) = {true, waits, at, own};
}

SOTTO_DECL void sum_coordinator::learn(const wire::gossip_place& at,
                                       const round_verdict& of_ranks) noexcept {
    if (at <= decided_) return;
    decided_ = at;
    last_ = of_ranks;
}

SOTTO_DECL void sum_coordinator::tell(wire::gossip_word& to) const noexcept {
    to.decided = decided_;
    to.ranks = last_.ranks;
    to.of_ranks = last_.sums;
    to.another = last_.another;
    to.skips_next = last_.skips_next;
}

SOTTO_DECL void sum_coordinator::hear(const wire::gossip_word& w) noexcept {
    learn(w.decided, {w.of_ranks, w.ranks, w.another, w.skips_next});
}

}  // namespace sotto::detail
