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

/// Something that goes wrong on a simulated network at a time, counted from its beginning.
struct network_fault {
    /// What goes wrong.
    enum class kind : std::uint8_t {
        delay,       // for a while bytes from `rank` to `peer` take longer, by `extra`
        cut,         // the connections between two ranks break; both are told
        partition,   // for a while bytes from `rank` to `peer` wait; those back do not
        crash,       // the rank's process ends, or never begins; the system tells the others
        power_loss,  // the same, and nobody is told
        pause,       // for a while the rank does nothing, not even say that it lives
        flip,        // one bit of the next packet from `rank` to `peer` is wrong
        truncate,    // the end of that packet is missing, and the connection breaks behind it
        duplicate,   // that packet comes twice
        restart,     // the rank's process, which has ended, begins anew
    };

    kind what = kind::pause;  // which of them
    duration at{};            // since the beginning of the run
    int rank = 0;             // whose, or from whom
    int peer = 0;             // of those that concern a connection
    duration lasts{};         // of delay, partition and pause
    duration extra{};         // of delay

    /// Bytes from one rank to another take longer by `extra` for a while.
    static network_fault delay(int from, int to, duration at, duration lasts, duration extra);
    /// The connections between two ranks break.
    static network_fault cut(int one, int other, duration at);
    /// Bytes from one rank to another wait for a while.
    static network_fault partition(int from, int to, duration at, duration lasts);
    /// A rank's process ends.
    static network_fault crash(int rank, duration at) { return {kind::crash, at, rank}; }
    /// A rank's process ends, and nobody is told.
    static network_fault power_loss(int rank, duration at) { return {kind::power_loss, at, rank}; }
    /// A rank does nothing for a while.
    static network_fault pause(int rank, duration at, duration lasts);
    /// A bit of the next packet is wrong.
    static network_fault flip(int from, int to, duration at) { return {kind::flip, at, from, to}; }
    /// The end of the next packet is missing.
    static network_fault truncate(int from, int to, duration at);
    /// A rank's process begins anew.
    static network_fault restart(int rank, duration at) { return {kind::restart, at, rank}; }
    /// The next packet comes twice.
    static network_fault duplicate(int from, int to, duration at);

    /// Whether it concerns two ranks, and not one.
    bool is_of_connection() const noexcept;
    /// Whether it lasts.
    bool is_for_a_while() const noexcept;

    /// Whether a job can go on with it as if nothing were.
    bool is_harmless(duration dead_after) const noexcept;

    friend bool operator==(const network_fault&, const network_fault&) = default;
};

/// As errors and logs spell it.
constexpr std::string_view name_of(network_fault::kind what) noexcept {
    constexpr std::string_view names[] = {"delay", "cut",  "partition", "crash",     "power_loss",
                                          "pause", "flip", "truncate",  "duplicate", "restart"};
    return names[static_cast<std::size_t>(what)];
}

/// What it is, as errors and logs say it.
std::string describe(const network_fault& f);

/// All but restart, which must follow the end of a process.
inline constexpr network_fault::kind every_fault[] = {
    network_fault::kind::delay, network_fault::kind::cut,        network_fault::kind::partition,
    network_fault::kind::crash, network_fault::kind::power_loss, network_fault::kind::pause,
    network_fault::kind::flip,  network_fault::kind::truncate,   network_fault::kind::duplicate};

/// Faults that a seed draws: `count` of those kinds, at any time up to a horizon, in order of time.
/// Of those that last one half is short: up to a quarter of the horizon, and a delay is by up to a
/// sixteenth. The others last, and delay, up to `longest`: beyond dead_after ranks are missed that
/// live, and come back.
std::vector<network_fault> random_faults(random_stream random, int ranks, std::size_t count,
                                         duration horizon, duration longest,
                                         std::span<const network_fault::kind> kinds = every_fault);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_faults.ipp"
#endif
