#pragma once

#include "sotto/strategies/detail/gossip/lost_ranks.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void lost_ranks::add(int rank, std::string cause, std::uint64_t step, time_point now) {
    all_.push_back({.rank = rank,
                    .cause = std::move(cause),
                    .step = static_cast<std::int64_t>(step),
                    .seconds = in_seconds(now - began_)});
}

SOTTO_DECL void lost_ranks::returns(int rank, std::uint64_t step) noexcept {
    for (rank_loss& loss : all_)
        if (loss.rank == rank && loss.again_step < 0)
            loss.again_step = static_cast<std::int64_t>(step);
}

}  // namespace sotto::detail
