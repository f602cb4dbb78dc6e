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
/// Every rank but 0 says hello to rank 0, and where it listens. From then on both say four times
/// a second that they live. Once all have come, rank 0 tells everybody where everybody listens; the
/// higher of two ranks connects to the lower, once for control and once for data (to rank 0 the
/// first connection is for control). Who has all its connections says so to rank 0, and when all
/// have, rank 0 lets them go. A rank that is lost meanwhile, or that another one cannot reach, is
/// rank 0's to name; everybody else waits for its word.
///   wire    hello.hpp, rendezvous_message.hpp and rank_table.hpp of wire/detail/protocols
///   cost    a full mesh, 2 (N - 1) sockets a rank: collectives differ in who their neighbours are.
///           One connection for data fills 1 Gbit/s, see bench/network
///   errors  invalid_option: options that cannot work, or an address that strangers could reach;
///           mismatch: another rank is configured differently; io_failure: the system refuses to
///           listen; peer_failure: a rank is lost meanwhile; error (timed_out): ranks never came
class tcp_join : public tcp_handshake {
    using enum wire::connection_purpose;

public:
    /// `ask`: finds the addresses of names.
    tcp_join(tcp_context context, const tcp_options& options, resolver ask = ask_system);

    tcp_connections run();

private:
    // One connection

    /// Whether the connection is one that this rank waits for.
    wire::rendezvous_message admit(const wire::hello& said,
                                   wire::rendezvous_message answer) override;

    bool met(tcp_opening& o, const wire::hello& said) override;

    void turned_away(const std::string& why) override { turned_away_ = why; }

    bool unanswered(tcp_opening& o) override;

    bool answered(tcp_opening& o, const wire::rendezvous_message& said) override;

    bool heard(tcp_opening&, const bytes&) override { return false; }  // met_ has all that are

    bool lost(tcp_opening& o, const std::string& how) override;

    /// Rank 0 did not answer where it was looked for.
    void look_elsewhere(tcp_opening& o);

    [[noreturn]] void be_refused(const wire::rendezvous_message& said) const;

    std::unique_ptr<tcp_socket>& place_of(const tcp_opening& o) noexcept;

    // What those say that are met

    void hear(const rendezvous_channel::arrival& came);

    void hear_leader(const rendezvous_channel::arrival& came);

    void meet_all(const bytes& table);

    void hear_follower(const rendezvous_channel::arrival& came);

    // All together

    /// Rank 0.
    void lead();

    /// The others.
    void follow();

    /// A rank that had come is gone. All that there are hear it from rank 0.
    [[noreturn]] void lose(int rank, const std::string& how);

    void tell(const wire::rendezvous_message& word);

    [[noreturn]] void give_up();

    endpoint meeting_;               // where rank 0 is
    asio::ip::address own_address_;  // by which this rank reaches it
    rendezvous_channel met_;
    std::optional<deadline> connects_;           // the others: since all are there
    bool all_met_ = false;                       // rank 0
    bool releases_ = false;                      // rank 0
    std::vector<wire::listening_place> places_;  // rank 0: of all
    std::vector<bool> ready_;                    // rank 0: who has all its connections
    bool said_ready_ = false;
    bool released_ = false;
    std::string turned_away_;  // the last rank that was, and why
    std::vector<pollfd> waits_;
    tcp_connections made_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_join.ipp"
#endif
