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

/// Under way from one rank to another.
struct packet {
    using place = std::uint32_t;  // among those that are under way

    int from = 0, to = 0;
    packet_kind kind = packet_kind::messages;
    bool has_content = true;
    bool twice = false;
    bool is_last = false;  // the connection breaks behind it
    int uses = 1;          // of its receiver: as often as it comes
    std::size_t size = 0;
    time_point out{};                          // when its last byte leaves
    std::uint64_t from_life = 0, to_life = 0;  // its connection is between these processes
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
    time_point served_at{};              // the next time
    std::uint64_t life = 0;              // processes that were this rank
    std::map<int, std::uint64_t> known;  // of others, where not the present one
    std::deque<int> came;                // others that are there anew, of which it has not heard
    std::vector<packet::place> ahead;    // what has come from these already
    std::optional<int> hears_of;         // now
};

/// What is wrong with the way from one rank to another.
struct trouble {
    struct delay {
        time_point until;
        duration extra;
    };

    time_point held_until{}, last_head{};
    std::vector<delay> delays;
    std::deque<packet::place> held;
    std::deque<network_fault::kind> harms;  // of the packets that come
    bool is_cut = false;

    /// Of the delays that last, the longest.
    duration extra_at(time_point now);
};

/// A process is to hear that its connection to another rank is no more.
struct breaking {
    int rank = 0, peer = 0;
    std::uint64_t life_of_rank = 0;
    const char* how = "";
};

/// A process is to hear that another rank is there anew.
struct coming {
    int rank = 0, peer = 0;
    std::uint64_t life_of_rank = 0, life = 0;
};

}  // namespace sotto::detail::simulation

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/simulated/simulated_parts.ipp"
#endif
