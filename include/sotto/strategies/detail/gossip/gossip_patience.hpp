#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"

namespace sotto::detail {

/// For how long a rank of gossip waits in vain, where ranks may come and go: the patience for a
/// neighbour of which it does not know whether it takes part in the round; else twice that, as who
/// is waited for may wait itself, and this rank hears of it when that one gives up. Time in which
/// the process is halted does not count, see waiting_time.
class gossip_patience {
public:
    /// For a neighbour; twice that for others.
    explicit gossip_patience(duration patience) noexcept : patience_(patience) {}

    /// `progress`: a number that changes when what is waited for comes nearer.
    void begin(time_point now, std::int64_t progress) noexcept;
    /// Whether to wait on.
    bool lasts(time_point now, std::int64_t progress, bool is_twice) noexcept;

    /// What another rank was that was waited for.
    std::string cause() const;

private:
    duration patience_;
    waiting_time time_;
    std::int64_t progress_ = 0;
    bool is_twice_ = false;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/gossip_patience.ipp"
#endif
