#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"

namespace sotto::detail {

/// Ranks that one rank of gossip has lost while it trained on, in order. Steps are that rank's own.
class lost_ranks {
public:
    /// A call of `fit` begins.
    void begin(time_point now) noexcept { began_ = now; }
    /// A rank went, in this step.
    void add(int rank, std::string cause, std::uint64_t step, time_point now) {
        all_.push_back({.rank = rank,
                        .cause = std::move(cause),
                        .step = static_cast<std::int64_t>(step),
                        .seconds = in_seconds(now - began_)});
    }
    /// It is there again.
    void returns(int rank, std::uint64_t step) noexcept {
        for (rank_loss& loss : all_)
            if (loss.rank == rank && loss.again_step < 0)
                loss.again_step = static_cast<std::int64_t>(step);
    }
    /// All of them, in order.
    std::span<const rank_loss> all() const noexcept { return all_; }

private:
    time_point began_{};
    std::vector<rank_loss> all_;
};

}  // namespace sotto::detail
