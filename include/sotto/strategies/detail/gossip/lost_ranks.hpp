#pragma once

#include <cstdint>
#include <span>
#include <string>
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
    void add(int rank, std::string cause, std::uint64_t step, time_point now);
    /// It is there again.
    void returns(int rank, std::uint64_t step) noexcept;
    /// All of them, in order.
    std::span<const rank_loss> all() const noexcept { return all_; }

private:
    time_point began_{};
    std::vector<rank_loss> all_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/lost_ranks.ipp"
#endif
