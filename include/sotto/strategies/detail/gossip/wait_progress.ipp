#pragma once

#include "sotto/strategies/detail/gossip/wait_progress.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void wait_progress::tells(int rank, const wire::gossip_word& w) noexcept {
    const bool waits = w.kind == wire::gossip_kind::stands && w.waits;
    const place now{w.fit, w.at, w.is_done ? 2 : waits ? 1 : 0};
    known& k = ranks_[static_cast<std::size_t>(rank)];
    if (now <= k.furthest) return;
    k = {now, true};
    ++count_;
}

SOTTO_DECL void wait_progress::goes(int rank) noexcept {
    if (std::exchange(ranks_[static_cast<std::size_t>(rank)].is_further, false)) ++count_;
}

}  // namespace sotto::detail
