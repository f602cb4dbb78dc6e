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

/// How the ranks of an elastic job find each other: at its beginning, and whenever one comes late
/// or comes again, as long as the job lasts.
///
/// A rank that comes says hello to rank 0, and where it listens; rank 0 tells it where those listen
/// that are there. It connects to each of them, once for control and once for data, and says that
/// it is ready. Rank 0 lets it go: at the beginning of the job when all have come or
/// tcp_options::join is over, later at once. Where a connection was lost, the higher of two ranks
/// tries to connect to the lower, so that all come to a rank 0 that is there anew; of two that
/// connect to each other at once, the higher one's connections count.
///   wire    as tcp_join, but that the connection by which a rank meets rank 0 serves nothing else,
///           and that rank 0 sends its table at once, with ports of 0 for ranks that are not there
///   cost    as tcp_join; for each lower rank that is gone some attempts to connect a second
///   errors  as tcp_join; ranks that do not come are none, but if nobody does
class tcp_rendezvous final : public tcp_handshake {
    using enum wire::connection_purpose;

public:
    /// A rank that is there: its connections.
    struct arrival {
        int rank = 0;
        std::uint64_t incarnation = 0;
        std::unique_ptr<tcp_socket> control, data;
    };

    /// `ask`: finds the addresses of names.
    tcp_rendezvous(tcp_context context, const tcp_options& options, resolver ask = ask_system)
        : tcp_handshake(std::move(context), options, std::move(ask)), peers_(index(options.size)) {}

    std::uint64_t incarnation() const noexcept { return incarnation_; }

    /// Until this rank may begin: with those that are there.
    tcp_connections run();

    // While the job lasts

    /// Adds what is to be waited for; until when at most.
    time_point add_waits(std::vector<pollfd>& waits);

    /// Does what can be done; false if it was `enough` before that.
    bool advance(time_point enough = (time_point::max)());

    /// The next rank that is there now.
    std::optional<arrival> next_arrival();

    /// A rank is gone; one that has left is not looked for.
    void gone(int rank, bool left);

private:
    void meet();

    struct peer {
        std::uint64_t incarnation = 0;                  // of the connections below
        std::unique_ptr<tcp_socket> control{}, data{};  // until both are there
        std::optional<endpoint> place{};
        bool is_here = false;
        bool wanted = false;        // this rank is to connect to it
        bool connects = false;      // and does
        std::uint64_t met = 0;      // rank 0: incarnation that has come to meet it
        bool ready = false;         // rank 0: it has all its connections
        time_point waited_until{};  // before this rank says that it is ready
        time_point next_try{};
        duration pause = pause_min;
    };

    static constexpr duration pause_min = std::chrono::milliseconds(5);

    /// Between two attempts to connect: within few of them, and long before others that have
    /// connected already take this rank for dead, all that live have found each other.
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

    /// Rank 0 did not answer where it was looked for.
    void look_elsewhere(tcp_opening& o);

    bool broken(tcp_opening& o) override;

    bool learn(tcp_opening& o, const bytes& table);

    void tell_places(tcp_opening& to);

    /// Where those listen that are there, or on their way.
    std::vector<wire::listening_place> places_there(int but);

    void take_over(tcp_opening& o, std::uint64_t incarnation);

    /// This attempt to connect has failed; the next one is after a pause.
    bool retreat(tcp_opening& o);

    /// Whether the other rank has an attempt of this one to answer.
    bool has_said_hello(int rank);

    void end_connecting(int rank);

    void connect_to_wanted();

    // All together

    /// Rank 0.
    void lead();

    /// The others.
    void follow();

    [[noreturn]] void give_up();

    std::vector<peer> peers_;
    endpoint meeting_;  // where rank 0 is
    time_point began_{};
    bool resumes_ = false;     // rank 0: the job was under way before it came
    bool knows_all_ = false;   // the others: who is there
    bool said_ready_ = false;  // the others
    bool released_ = false;
    std::string turned_away_;  // the last rank that was, and why
    std::deque<arrival> arrivals_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_rendezvous.ipp"
#endif
