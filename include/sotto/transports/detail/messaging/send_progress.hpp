#pragma once

#include <cstdint>
#include <optional>

#include "sotto/core/clock.hpp"

namespace sotto::detail::net {

/// What the system knows of the output of a connection.
struct send_facts {
    std::uint64_t acknowledged = 0;  // bytes
    std::uint32_t in_flight = 0;     // segments that were sent and not acknowledged
    std::uint32_t attempts = 0;  // to send the first of them again, since the last acknowledgement
};

/// Whether what a connection sends arrives. A connection whose receiver reads nothing is none that
/// stalls: its system acknowledges what it has room for, and nothing else is in flight.
class send_progress {
public:
    /// A link that comes back after a while is found by the next attempt: so many have failed.
    static constexpr std::uint32_t attempts_min = 4;

    /// For how long nothing was acknowledged, if that is longer than `limit` and several attempts
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
