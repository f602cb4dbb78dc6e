#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sotto/core/clock.hpp"

namespace sotto::detail::net {

/// Options of a packet_transport. All ranks get the same budget.
struct packet_options {
    duration timeout = std::chrono::seconds(60);
    std::int64_t budget = 4 << 20;
    std::int64_t transfers = 64;
    duration heartbeat = std::chrono::milliseconds(250);
    duration dead_after{};  // 0: never

    /// Throws invalid_option, which names the option of `name` and its allowed values.
    void require_possible(const std::string& name) const;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/packet_options.ipp"
#endif
