#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/tcp/tcp_connections.hpp"
#include "sotto/transports/detail/tcp/tcp_handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_opening.hpp"
#include "sotto/transports/detail/tcp/rendezvous_channel.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// How the ranks of a job find each other.
///
/// Every rank except 0 sends rank 0 a hello, with the place where it listens. From then on both
/// send a sign of life four times a second. Once all ranks are there, rank 0 sends every rank the
/// places of all. The higher of two ranks connects to the lower, once for control and once for data
/// (to rank 0 the first connection is for control). A rank that has all its connections reports
/// this to rank 0. Once all have, rank 0 lets them begin. If a rank is lost before, or another one
/// cannot reach it, rank 0 names it, and every other rank waits for that message.
///   wire    hello.hpp, rendezvous_message.hpp and rank_table.hpp of wire/detail/protocols
///   cost    a full mesh, 2 (N - 1) sockets a rank, because collectives have different neighbours.
///           One connection for data fills 1 Gbit/s, see bench/network
///   errors  invalid_option: invalid options, or an address that strangers could reach. mismatch:
///           another rank is configured differently. io_failure: the system refuses to listen.
///           peer_failure: a rank was lost during the join. error (timed_out): ranks did not join
class tcp_join : public tcp_handshake {
    using enum wire::connection_purpose;

public:
    /// `ask` finds the addresses of names.
    tcp_join(tcp_context context, const tcp_options& options, resolver ask = ask_system);

    tcp_connections run();

private:
    // One connection

    /// Welcomes a connection that this rank waits for.
    wire::rendezvous_message admit(const wire::hello& said,
                                   wire::rendezvous_message answer) override;

    bool met(tcp_opening& o, const wire::hello& said) override;

    void turned_away(const std::string& why) override { turned_away_ = why; }

    bool unanswered(tcp_opening& o) override;

    bool answered(tcp_opening& o, const wire::rendezvous_message& said) override;

    bool heard(tcp_opening&, const bytes&) override { return false; }  // met_ has all greeted ones

    bool lost(tcp_opening& o, const std::string& how) override;

    /// Looks for rank 0 elsewhere: it did not answer.
    void look_elsewhere(tcp_opening& o);

    [[noreturn]] void be_refused(const wire::rendezvous_message& said) const;

    std::unique_ptr<tcp_socket>& place_of(const tcp_opening& o) noexcept;

    // Messages of ranks that are met

    void hear(const rendezvous_channel::arrival& came);

    void hear_leader(const rendezvous_channel::arrival& came);

    void meet_all(const bytes& table);

    void hear_follower(const rendezvous_channel::arrival& came);

    // All ranks together

    /// The part of rank 0.
    void lead();

    /// The part of the other ranks.
    void follow();

    /// A rank that had joined is lost. Rank 0 reports it to all that are there.
    [[noreturn]] void lose(int rank, const std::string& how);

    void tell(const wire::rendezvous_message& word);

    [[noreturn]] void give_up();

    endpoint meeting_;               // where rank 0 is
    asio::ip::address own_address_;  // by which this rank reaches it
    rendezvous_channel met_;
    std::optional<deadline> connects_;           // other ranks: limit to connect, from when all are
                                                 // there
    bool all_met_ = false;                       // rank 0: all ranks have joined
    bool releases_ = false;                      // rank 0: it lets the ranks begin
    std::vector<wire::listening_place> places_;  // rank 0: of all ranks
    std::vector<bool> ready_;                    // rank 0: ranks that have all their connections
    bool said_ready_ = false;
    bool released_ = false;
    std::string turned_away_;  // last rank that was turned away, and why
    std::vector<pollfd> waits_;
    tcp_connections made_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_join.ipp"
#endif
