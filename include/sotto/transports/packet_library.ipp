#pragma once

#include "sotto/transports/packet_library.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL void pause_in_real_time(duration waited, bool moves) {
    // Short waits yield instead of sleeping, because a sleep takes the system 50 us and more.
    constexpr duration patience = std::chrono::milliseconds(2);
    if (waited < (moves ? 10 * patience : patience))
        std::this_thread::yield();
    else
        std::this_thread::sleep_for(std::clamp<duration>(
            waited / 100, std::chrono::microseconds(20), std::chrono::microseconds(200)));
}

}  // namespace sotto::detail::net
