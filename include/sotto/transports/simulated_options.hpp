#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/transports/packet_options.hpp"
#include "sotto/transports/simulated_faults.hpp"
#include "sotto/transports/speeds.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// How fast a rank computes, where it says what it does by `charge`.
///   math    seconds = max(flops / flops_per_second, bytes / bytes_per_second)
struct simulated_machine {
    double flops = 50e9;  // a second
    double bytes = 10e9;  // of memory, a second

    /// How long so much computing takes.
    double seconds_for(work amount) const noexcept {
        return std::fmax(amount.flops / flops, amount.bytes / bytes);
    }
};

}  // namespace sotto::detail

namespace sotto {

/// A network that exists only in time that does not pass by itself. All is fixed by these options
/// and by what the ranks do.
struct simulated_options {
    /// How a rank of a simulated network is connected: what goes out shares one line and what comes
    /// in another one, whoever it is for or from.
    struct connection {
        double out = 125e6;  // bytes of frames and messages a second
        double in = 125e6;   // likewise
        duration latency =
            std::chrono::microseconds(50);  // of its way to the switch between all ranks

        /// A line of Ethernet as tc's tbf shapes it.
        ///   math    of 1514 bytes that count 1448 are payload of TCP
        static connection ethernet(double bits_per_second, duration latency) {
            const double payload = bits_per_second / 8.0 * 1448.0 / 1514.0;
            return {payload, payload, latency};
        }
    };

    std::uint64_t seed = 0;               // of how slow ranks are and of what faults harm
    connection line{};                    // of every rank
    std::vector<connection> lines{};      // or of each
    detail::simulated_machine machine{};  // of every rank
    speeds::slowness slowness = speeds::constant{};  // how much longer each piece takes
    duration call = std::chrono::nanoseconds(50);    // what a rank needs to ask in vain whether
                                                     // something is complete; for 256 times at once
    std::vector<network_fault> faults{};             // that happen to the network

    // As those of tcp_options, in simulated time.
    duration timeout = std::chrono::seconds(60);  // until a wait is given up, or deadline::never
    duration heartbeat = std::chrono::milliseconds(250);  // of each rank to all others
    duration dead_after = std::chrono::seconds(2);        // 0: never, and nobody says that it lives
    std::int64_t budget = 16 << 20;  // bytes from each rank that nobody waits for
    std::int64_t transfers = 64;     // under way at once, for which there is room
    /// Bytes that travel as one: larger ones are quicker to simulate, and messages of different
    /// ranks then share a line less finely.
    std::int64_t packet = 65536;

    /// The line of a rank.
    const connection& line_of(int rank) const noexcept {
        return lines.empty() ? line : lines[static_cast<std::size_t>(rank)];
    }
};

/// Its figures, in words for whoever reads times of it; of lines that differ, from the least to the
/// most.
inline std::string describe(const simulated_options& of) {
    const auto number = [](double value) { return detail::general_text(value, 6); };
    const auto range = [&](double scale, auto&& figure) {
        double low = figure(of.line_of(0)), high = low;
        for (const simulated_options::connection& line : of.lines) {
            low = std::fmin(low, figure(line));
            high = std::fmax(high, figure(line));
        }
        return number(scale * low) + (low < high ? " to " + number(scale * high) : "");
    };
    std::string out =
        range(8e-6, [](const simulated_options::connection& line) { return line.out; }) +
        " Mbit/s of payload out and " +
        range(8e-6, [](const simulated_options::connection& line) { return line.in; }) +
        " in, latency " +
        range(1e3,
              [](const simulated_options::connection& line) { return in_seconds(line.latency); }) +
        " ms, seed " + std::to_string(of.seed) + "; each rank " + number(1e-9 * of.machine.flops) +
        " Gflop/s and " + number(1e-9 * of.machine.bytes) + " GB/s of memory";
    if (const auto* const one = of.slowness.target<speeds::one_slow>(); one && one->factor != 1.0)
        out += ", rank " + std::to_string(one->rank) + " " + number(one->factor) + " times slower";
    if (!of.faults.empty()) out += ", faults: " + std::to_string(of.faults.size());
    return out;
}

}  // namespace sotto

namespace sotto::detail::simulation {

/// Each takes two of the 65,530 mappings of memory that Linux lets a process have.
inline constexpr int ranks_max = 30000;

/// What its ranks' transports are told.
inline net::packet_options packet_options_of(const simulated_options& from) noexcept {
    return {.timeout = from.timeout,
            .budget = from.budget,
            .transfers = from.transfers,
            .heartbeat = from.heartbeat,
            .dead_after = from.dead_after};
}

/// Throws invalid_option, which names the option and what it may be.
inline void require_possible(const simulated_options& options, int ranks) {
    const auto refuse = [](const std::string& what) { throw invalid_option("simulated: " + what); };
    if (ranks < 1 || ranks > ranks_max)
        refuse(std::to_string(ranks) + " ranks; 1 to " + std::to_string(ranks_max) +
               " are possible");
    if (!options.lines.empty() && options.lines.size() != static_cast<std::size_t>(ranks))
        refuse(std::to_string(options.lines.size()) + " lines for " + std::to_string(ranks) +
               " ranks; none or one for each is expected");
    constexpr auto rate = allowed::above(0.0);
    const auto require_time = [&](const char* name, duration value, bool may_be_0) {
        if (value < duration::zero() || (value == duration::zero() && !may_be_0) ||
            value > std::chrono::years(1))
            refuse(std::string(name) + " is " + std::to_string(value.count()) + " ns; it must be " +
                   (may_be_0 ? "at least" : "above") + " 0 and at most a year");
    };
    for (int rank = 0; rank < (options.lines.empty() ? 1 : ranks); ++rank) {
        const simulated_options::connection& line = options.line_of(rank);
        require_option("simulated", "line.out", line.out, rate);
        require_option("simulated", "line.in", line.in, rate);
        require_time("line.latency", line.latency, true);
    }
    require_option("simulated", "machine.flops", options.machine.flops, rate);
    require_option("simulated", "machine.bytes", options.machine.bytes, rate);
    require_time("call", options.call, false);
    speeds::require_possible(options.slowness, ranks);
    require_time("heartbeat", options.heartbeat, false);
    if (options.timeout != deadline::never) require_time("timeout", options.timeout, false);
    require_time("dead_after", options.dead_after, true);
    if (options.dead_after != duration::zero() && options.dead_after < 4 * options.heartbeat)
        refuse("dead_after must be 0 or at least four heartbeats");
    if (options.packet < 1024 || options.packet > 1 << 30)
        refuse("packet is " + std::to_string(options.packet) + " bytes; 1024 to 2^30 are possible");
    packet_options_of(options).require_possible("simulated");
    for (const network_fault& f : options.faults) {
        if (f.rank < 0 || f.rank >= ranks || f.peer < 0 || f.peer >= ranks)
            refuse("the fault '" + describe(f) +
                   "' names a rank that there is not; ranks are 0 to " + std::to_string(ranks - 1));
        if (f.is_of_connection() && f.rank == f.peer)
            refuse("the fault '" + describe(f) +
                   "' is of a connection of a rank with itself; two ranks are expected");
        if (f.at < duration::zero())
            refuse("the fault '" + describe(f) + "' is before the beginning, which is at 0");
        if (f.lasts < duration::zero() || f.extra < duration::zero())
            refuse("the fault '" + describe(f) + "' lasts or delays for less than no time");
    }
}

}  // namespace sotto::detail::simulation
