#pragma once

#include "sotto/transports/detail/messaging/send_progress.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::optional<duration> send_progress::stalls(const send_facts& facts, duration present,
                                                         duration limit) noexcept {
    if (facts.in_flight == 0 || facts.attempts == 0 || facts.acknowledged != acknowledged_) {
        acknowledged_ = facts.acknowledged;
        since_ = present;
        return std::nullopt;
    }
    if (facts.attempts < attempts_min || present - since_ <= limit) return std::nullopt;
    return present - since_;
}

}  // namespace sotto::detail::net
