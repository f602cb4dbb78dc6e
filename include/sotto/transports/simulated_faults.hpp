#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"

namespace sotto {

/// A fault of a simulated network. Times count from the start of the run.
struct network_fault {
    /// Kind of a fault.
    enum class kind : std::uint8_t {
        delay,       // for a while, bytes from `rank` to `peer` take longer by `extra`
        cut,         // the connections between two ranks break; both are notified
        partition,   // for a while, bytes from `rank` to `peer` wait; those back do not
        crash,       // the rank's process ends or never starts; the system notifies the others
        power_loss,  // the same, but no rank is notified
        pause,       // for a while, the rank does nothing and sends no sign of life
        flip,        // one bit of the next packet from `rank` to `peer` is wrong
        truncate,    // that packet lacks its end, and the connection breaks behind it
        duplicate,   // that packet arrives twice
        restart,     // the rank's process, which has ended, starts again
    };

    kind what = kind::pause;  // kind of the fault
    duration at{};            // time since the start of the run
    int rank = 0;             // affected rank, or sender
    int peer = 0;             // receiver, for faults of a connection
    duration lasts{};         // duration of delay, partition and pause
    duration extra{};         // of delay

    /// Bytes from one rank to another take longer by `extra` for a while.
    static network_fault delay(int from, int to, duration at, duration lasts, duration extra);
    /// The connections between two ranks break.
    static network_fault cut(int one, int other, duration at);
    /// Bytes from one rank to another wait for a while.
    static network_fault partition(int from, int to, duration at, duration lasts);
    /// A rank's process ends.
    static network_fault crash(int rank, duration at) { return {kind::crash, at, rank}; }
    /// A rank's process ends, and no rank is notified.
    static network_fault power_loss(int rank, duration at) { return {kind::power_loss, at, rank}; }
    /// A rank does nothing for a while.
    static network_fault pause(int rank, duration at, duration lasts);
    /// A bit of the next packet is wrong.
    static network_fault flip(int from, int to, duration at) { return {kind::flip, at, from, to}; }
    /// The end of the next packet is missing.
    static network_fault truncate(int from, int to, duration at);
    /// A rank's process starts again.
    static network_fault restart(int rank, duration at) { return {kind::restart, at, rank}; }
    /// The next packet arrives twice.
    static network_fault duplicate(int from, int to, duration at);

    /// True if it concerns the connection of two ranks, not one rank.
    bool is_of_connection() const noexcept;
    /// True if it has a duration.
    bool is_for_a_while() const noexcept;

    /// True if no rank is lost by it, given this `dead_after`.
    bool is_harmless(duration dead_after) const noexcept;

    friend bool operator==(const network_fault&, const network_fault&) = default;
};

/// Name in errors and logs.
constexpr std::string_view name_of(network_fault::kind what) noexcept {
    constexpr std::string_view names[] = {"delay", "cut",  "partition", "crash",     "power_loss",
                                          "pause", "flip", "truncate",  "duplicate", "restart"};
    return names[static_cast<std::size_t>(what)];
}

/// Text in errors and logs.
std::string describe(const network_fault& f);

/// All kinds except restart, which must follow the end of a process.
inline constexpr network_fault::kind every_fault[] = {
    network_fault::kind::delay, network_fault::kind::cut,        network_fault::kind::partition,
    network_fault::kind::crash, network_fault::kind::power_loss, network_fault::kind::pause,
    network_fault::kind::flip,  network_fault::kind::truncate,   network_fault::kind::duplicate};

/// Draws `count` faults of these kinds at times up to a horizon, in order of time. Half of the
/// durations are short: up to a quarter of the horizon, and delays of up to a sixteenth. The others
/// last, and delay, up to `longest`. Beyond dead_after, live ranks are dropped and join again.
std::vector<network_fault> random_faults(random_stream random, int ranks, std::size_t count,
                                         duration horizon, duration longest,
                                         std::span<const network_fault::kind> kinds = every_fault);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_faults.ipp"
#endif
