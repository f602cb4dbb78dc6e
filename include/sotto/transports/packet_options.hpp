#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

/// What a packet_transport is told. All ranks are given the same budget.
struct packet_options {
    duration timeout = std::chrono::seconds(60);
    std::int64_t budget = 4 << 20;
    std::int64_t transfers = 64;
    duration heartbeat = std::chrono::milliseconds(250);
    duration dead_after{};  // 0: never

    /// Throws invalid_option, which names the option of `name` and what it may be.
    void require_possible(const std::string& name) const {
        const auto refuse = [&](const std::string& what) {
            throw invalid_option(name + ": " + what);
        };
        if (timeout <= duration::zero())
            refuse("timeout is " + std::to_string(timeout.count()) + " ns; it must be above 0");
        if (budget < 65536)
            refuse("budget is " + std::to_string(budget) + " bytes; it must be at least 65536");
        if (transfers < 0)
            refuse("room for " + std::to_string(transfers) + " transfers; it must be at least 0");
    }
};

}  // namespace sotto::detail::net
