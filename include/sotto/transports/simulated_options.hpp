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

/// Computing speed of a rank. A rank passes its work to `charge`.
///   math    seconds = max(flops / flops_per_second, bytes / bytes_per_second)
struct simulated_machine {
    double flops = 50e9;  // per second
    double bytes = 10e9;  // bytes of memory per second

    /// Time that this work takes.
    double seconds_for(work amount) const noexcept;
};

}  // namespace sotto::detail

namespace sotto {

/// A network that exists only in simulated time. These options and the ranks' actions determine
/// everything that happens.
struct simulated_options {
    /// Connection of a rank of a simulated network. All outgoing data share one line and all
    /// incoming data another, for any peer.
    struct connection {
        double out = 125e6;  // bytes of frames and messages per second
        double in = 125e6;   // likewise
        duration latency =
            std::chrono::microseconds(50);  // latency of its way to the switch between all ranks

        /// An Ethernet line as shaped by tc's tbf.
        ///   math    of 1514 bytes that count, 1448 are TCP payload
        static connection ethernet(double bits_per_second, duration latency);
    };

    std::uint64_t seed = 0;               // for slowness of ranks and for damage by faults
    connection line{};                    // line of every rank
    std::vector<connection> lines{};      // or one line for each rank
    detail::simulated_machine machine{};  // of every rank
    speeds::slowness slowness = speeds::constant{};  // factor of the time of each piece of work
    duration call = std::chrono::nanoseconds(50);    // time of one poll of an incomplete operation;
                                                     // charged for 256 polls at once
    std::vector<network_fault> faults{};             // faults of the network

    // As in tcp_options, in simulated time.
    duration timeout = std::chrono::seconds(60);          // limit of a wait, or deadline::never
    duration heartbeat = std::chrono::milliseconds(250);  // time between signs of life
    duration dead_after = std::chrono::seconds(2);        // 0: never, and no signs of life
    std::int64_t budget = 16 << 20;  // bytes from each rank before they are received
    std::int64_t transfers = 64;     // room for transfers in flight
    /// Bytes that travel as one packet. Larger packets simulate faster, but messages of different
    /// ranks share a line less finely.
    std::int64_t packet = 65536;

    /// Line of a rank.
    const connection& line_of(int rank) const noexcept;
};

/// Description of the network, for readers of times on it. For different lines it has the minimum
/// and the maximum.
std::string describe(const simulated_options& of);

}  // namespace sotto

namespace sotto::detail::simulation {

/// Each rank takes two of the 65,530 memory mappings that Linux allows a process.
inline constexpr int ranks_max = 30000;

/// Options of its ranks' transports.
net::packet_options packet_options_of(const simulated_options& from) noexcept;

/// Throws invalid_option, which names the option and its allowed values.
void require_possible(const simulated_options& options, int ranks);

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/simulated_options.ipp"
#endif
