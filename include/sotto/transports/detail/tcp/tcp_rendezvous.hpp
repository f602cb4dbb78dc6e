#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/detail/tcp/tcp_handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_opening.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// How the ranks of an elastic job find each other: at its start, and when a rank joins late or
/// again, as long as the job lasts.
///
/// A joining rank sends rank 0 a hello, with the place where it listens. Rank 0 sends it the places
/// of the ranks that are there. The rank connects to each of them, once for control and once for
/// data, and reports that it is ready. Rank 0 then lets it begin. At the start of the job, rank 0
/// does so when all are there or tcp_options::join has passed; later, at once.
///
/// After a lost connection, the higher of two ranks tries to connect to the lower. So all ranks
/// connect to a rank 0 that has restarted. If two ranks connect to each other at once, the higher
/// one's connections count.
///   wire    as tcp_join, except that the connection by which a rank meets rank 0 serves nothing
///           else. Rank 0 sends its table at once, with ports of 0 for ranks that are not there
///   cost    as tcp_join; a few attempts to connect per second for each lower rank that is absent
///   errors  as tcp_join; absent ranks are no error, unless all others are absent
class tcp_rendezvous final : public tcp_handshake {
    using enum wire::connection_purpose;

public:
    /// A rank that has joined, with its connections.
    struct arrival {
        int rank = 0;
        std::uint64_t incarnation = 0;
        std::unique_ptr<tcp_socket> control, data;
    };

    /// `ask` finds the addresses of names.
    tcp_rendezvous(tcp_context context, const tcp_options& options, resolver ask = ask_system)
        : tcp_handshake(std::move(context), options, std::move(ask)), peers_(index(options.size)) {}

    std::uint64_t incarnation() const noexcept { return incarnation_; }

    /// Blocks until this rank may begin, and returns connections to the ranks that are there.
    tcp_connections run();

    // While the job lasts

    /// Adds descriptors to wait for, and returns the time to wait until at most.
    time_point add_waits(std::vector<pollfd>& waits);

    /// Makes all possible progress on all connections. Returns false if `enough` passes before
    /// that.
    bool advance(time_point enough = (time_point::max)());

    /// Next rank that has joined.
    std::optional<arrival> next_arrival();

    /// A rank failed or left. One that has left is not looked for.
    void gone(int rank, bool left);

private:
    void meet();

    struct peer {
        std::uint64_t incarnation = 0;                  // incarnation of the connections below
        std::unique_ptr<tcp_socket> control{}, data{};  // until both are there
        std::optional<endpoint> place{};
        bool is_here = false;
        bool wanted = false;        // this rank is to connect to it
        bool connects = false;      // and does
        std::uint64_t met = 0;      // rank 0: incarnation that has greeted it
        bool ready = false;         // rank 0: it has all its connections
        time_point waited_until{};  // before this rank reports that it is ready
        time_point next_try{};
        duration pause = pause_min;
    };

    static constexpr duration pause_min = std::chrono::milliseconds(5);

    /// Maximum time between two attempts to connect. After a few of them all live ranks have found
    /// each other, long before connected ranks drop this one as dead.
    duration pause_max() const noexcept;

    peer& at(int rank) noexcept { return peers_[index(rank)]; }

    template <class Visitor>
    void for_each_other(Visitor&& visit) {
        for (int rank = 0; rank < options_.size; ++rank)
            if (rank != options_.rank) visit(rank, at(rank));
    }

    // One connection

    wire::rendezvous_message admit(const wire::hello& said,
                                   wire::rendezvous_message answer) override;

    bool met(tcp_opening& o, const wire::hello& said) override;

    void turned_away(const std::string& why) override { turned_away_ = why; }

    bool unanswered(tcp_opening& o) override;

    bool answered(tcp_opening& o, const wire::rendezvous_message& said) override;

    bool heard(tcp_opening& o, const bytes& whole) override;

    bool lost(tcp_opening& o, const std::string& how) override;

    /// Looks for rank 0 elsewhere: it did not answer.
    void look_elsewhere(tcp_opening& o);

    bool broken(tcp_opening& o) override;

    bool learn(tcp_opening& o, const bytes& table);

    void tell_places(tcp_opening& to);

    /// Places of the ranks that are there, or on their way.
    std::vector<wire::listening_place> places_there(int but);

    void take_over(tcp_opening& o, std::uint64_t incarnation);

    /// This attempt to connect has failed; the next one follows after a pause.
    bool retreat(tcp_opening& o);

    /// True if an attempt of this rank still waits for the other rank's answer.
    bool has_said_hello(int rank);

    void end_connecting(int rank);

    void connect_to_wanted();

    // All ranks together

    /// The part of rank 0.
    void lead();

    /// The part of the other ranks.
    void follow();

    [[noreturn]] void give_up();

    std::vector<peer> peers_;
    endpoint meeting_;  // where rank 0 is
    time_point began_{};
    bool resumes_ = false;     // rank 0: the job was running before this process
    bool knows_all_ = false;   // other ranks: the table has arrived
    bool said_ready_ = false;  // other ranks: it reported that it is ready
    bool released_ = false;
    std::string turned_away_;  // last rank that was turned away, and why
    std::deque<arrival> arrivals_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_rendezvous.ipp"
#endif
