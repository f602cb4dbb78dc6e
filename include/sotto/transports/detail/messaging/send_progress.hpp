#pragma once

#include <cstdint>
#include <optional>

#include "sotto/core/clock.hpp"

namespace sotto::detail::net {

/// Facts of the system about the output of a connection.
struct send_facts {
    std::uint64_t acknowledged = 0;  // bytes
    std::uint32_t in_flight = 0;     // segments that were sent and not acknowledged
    std::uint32_t attempts = 0;      // attempts to resend the first since the last acknowledgement
};

/// Detects that a connection's output does not arrive. A connection whose receiver reads nothing
/// does not stall: its system acknowledges what it has room for, and nothing else is in flight.
class send_progress {
public:
    /// Number of attempts that must have failed. The next attempt finds a link that works again
    /// after a while.
    static constexpr std::uint32_t attempts_min = 4;

    /// Time for which nothing was acknowledged, if it is longer than `limit` and several attempts
    /// failed.
    std::optional<duration> stalls(const send_facts& facts, duration present,
                                   duration limit) noexcept;

private:
    std::uint64_t acknowledged_ = 0;
    duration since_{};
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/send_progress.ipp"
#endif
