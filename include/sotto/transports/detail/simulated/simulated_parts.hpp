#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/detail/messaging/ring_queue.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/simulated_faults.hpp"
#include "sotto/transports/simulated_options.hpp"

namespace sotto::detail::simulation {

using net::packet_kind;

/// A packet from one rank to another.
struct packet {
    using place = std::uint32_t;  // index among packets in flight

    int from = 0, to = 0;
    packet_kind kind = packet_kind::messages;
    bool has_content = true;
    bool twice = false;
    bool is_last = false;  // the connection breaks behind it
    int uses = 1;          // number of times that its receiver gets it
    std::size_t size = 0;
    time_point out{};                          // when its last byte leaves
    std::uint64_t from_life = 0, to_life = 0;  // processes at the ends of its connection
    bytes content{};
};

/// A rank's machine, and the process on it.
struct host {
    simulated_options::connection line;
    random_stream speed;
    time_point out_free{}, in_free{};
    net::ring_queue<packet::place> inbox[2];
    std::deque<net::packet_loss> lost;
    std::function<bool()> serve;
    duration period{};
    time_point served_at{};              // next call of serve
    std::uint64_t life = 0;              // number of processes of this rank so far
    std::map<int, std::uint64_t> known;  // processes it believes others to be, if not the present
                                         // ones
    std::deque<int> came;                // ranks with a new process that it does not know of
    std::vector<packet::place> ahead;    // packets that have arrived from these
    std::optional<int> hears_of;         // the rank that it learns of now
};

/// Faults on the way from one rank to another.
struct trouble {
    struct delay {
        time_point until;
        duration extra;
    };

    time_point held_until{}, last_head{};
    std::vector<delay> delays;
    std::deque<packet::place> held;
    std::deque<network_fault::kind> harms;  // faults of the next packets
    bool is_cut = false;

    /// Longest delay that is in effect.
    duration extra_at(time_point now);
};

/// Notice to a process that its connection to another rank is lost.
struct breaking {
    int rank = 0, peer = 0;
    std::uint64_t life_of_rank = 0;
    const char* how = "";
};

/// Notice to a process that another rank has a new process.
struct coming {
    int rank = 0, peer = 0;
    std::uint64_t life_of_rank = 0, life = 0;
};

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/simulated/simulated_parts.ipp"
#endif
