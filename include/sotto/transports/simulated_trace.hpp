#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// Something that happened on a simulated network.
struct simulated_event {
    ///   sent     a packet left
    ///   arrived  a packet came
    ///   dropped  a packet will not come
    ///   harmed   a fault took place
    ///   lost     a connection was lost
    ///   worked   a rank computed
    ///   began    a rank's process began
    ///   ended    a rank's process ended
    enum class kind : std::uint8_t { sent, arrived, dropped, harmed, lost, worked, began, ended };

    kind what = kind::sent;  // which of them
    time_point when{};       // in simulated time
    int rank = 0;            // whose, or from whom
    int peer = 0;            // to whom
    /// Bytes of `sent`, `arrived` and `dropped`; of `worked` nanoseconds, of `harmed` which fault,
    /// of `began` which process of this rank. Others have none.
    std::int64_t size = 0;

    friend bool operator==(const simulated_event&, const simulated_event&) = default;
};

/// As logs spell it.
constexpr std::string_view name_of(simulated_event::kind what) noexcept {
    constexpr std::string_view names[] = {"sent", "arrived", "dropped", "harmed",
                                          "lost", "worked",  "began",   "ended"};
    return names[static_cast<std::size_t>(what)];
}

/// All that happened, as one number: the same for runs in which the same happened at the same times
/// in the same order.
///   math    h = XXH3-64(event, seed = h), from h = 0; an event is five little-endian words: what,
///           when in ns, rank, peer, size
class simulated_trace {
public:
    /// H.
    std::uint64_t hash() const noexcept { return hash_; }
    /// Events so far.
    std::int64_t count() const noexcept { return count_; }

    /// Called with every event.
    std::function<void(const simulated_event&)> listener{};

    /// Takes an event in, and tells the listener.
    void add(const simulated_event& e);

private:
    std::uint64_t hash_ = 0;
    std::int64_t count_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_trace.ipp"
#endif
