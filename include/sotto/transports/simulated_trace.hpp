#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// An event on a simulated network.
struct simulated_event {
    /// Kind of an event.
    ///   sent     a packet left
    ///   arrived  a packet arrived
    ///   dropped  a packet will not arrive
    ///   harmed   a fault took place
    ///   lost     a connection was lost
    ///   worked   a rank computed
    ///   began    a rank's process started
    ///   ended    a rank's process ended
    enum class kind : std::uint8_t { sent, arrived, dropped, harmed, lost, worked, began, ended };

    kind what = kind::sent;  // kind of the event
    time_point when{};       // simulated time
    int rank = 0;            // affected rank, or sender
    int peer = 0;            // receiver
    /// Bytes for `sent`, `arrived` and `dropped`, nanoseconds for `worked`, the kind of fault for
    /// `harmed`, and the number of this rank's process for `began`. Others have none.
    std::int64_t size = 0;

    friend bool operator==(const simulated_event&, const simulated_event&) = default;
};

/// Name in logs.
constexpr std::string_view name_of(simulated_event::kind what) noexcept {
    constexpr std::string_view names[] = {"sent", "arrived", "dropped", "harmed",
                                          "lost", "worked",  "began",   "ended"};
    return names[static_cast<std::size_t>(what)];
}

/// One number for all events: equal for runs with equal events at equal times in equal order.
///   math    h = XXH3-64(event, seed = h), from h = 0; an event is five little-endian words: what,
///           when in ns, rank, peer, size
class simulated_trace {
public:
    /// h.
    std::uint64_t hash() const noexcept { return hash_; }
    /// Number of events so far.
    std::int64_t count() const noexcept { return count_; }

    /// Called with every event.
    std::function<void(const simulated_event&)> listener{};

    /// Adds an event and calls the listener.
    void add(const simulated_event& e);

private:
    std::uint64_t hash_ = 0;
    std::int64_t count_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_trace.ipp"
#endif
