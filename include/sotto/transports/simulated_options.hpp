#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
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
    double seconds_for(work amount) const noexcept;
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
        static connection ethernet(double bits_per_second, duration latency);
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
    const connection& line_of(int rank) const noexcept;
};

/// Its figures, in words for whoever reads times of it; of lines that differ, from the least to the
/// most.
std::string describe(const simulated_options& of);

}  // namespace sotto

namespace sotto::detail::simulation {

/// Each takes two of the 65,530 mappings of memory that Linux lets a process have.
inline constexpr int ranks_max = 30000;

/// What its ranks' transports are told.
net::packet_options packet_options_of(const simulated_options& from) noexcept;

/// Throws invalid_option, which names the option and what it may be.
void require_possible(const simulated_options& options, int ranks);

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_options.ipp"
#endif
