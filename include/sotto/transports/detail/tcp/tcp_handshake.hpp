#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_leader_search.hpp"
#include "sotto/transports/detail/tcp/tcp_listener.hpp"
#include "sotto/transports/detail/tcp/tcp_opening.hpp"
#include "sotto/transports/detail/tcp/tcp_peer_user.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// Connections that a rank opens with others, from either side, until both have greeted. Derived
/// classes decide which ranks are expected, and what is sent afterwards.
class tcp_handshake {
public:
    /// Opens the port at which others find rank 0, and returns its number: it may have been given
    /// as 0.
    std::uint16_t listen();

protected:
    using endpoint = asio::ip::tcp::endpoint;
    using stage = tcp_opening::stage;
    using saying = wire::saying;

    tcp_handshake(tcp_context context, const tcp_options& options, resolver ask);
    tcp_handshake(const tcp_handshake&) = delete;
    tcp_handshake& operator=(const tcp_handshake&) = delete;
    virtual ~tcp_handshake() = default;

    // Decisions of derived classes

    /// Answers a hello of this job. `answer` is a welcome, unless the function makes it a refusal.
    virtual wire::rendezvous_message admit(const wire::hello& said,
                                           wire::rendezvous_message answer) = 0;
    /// The answer, a welcome, is queued. Returns true if the opening continues.
    virtual bool met(tcp_opening& o, const wire::hello& said) = 0;
    /// A hello was refused; `why` is one sentence.
    virtual void turned_away(const std::string& why) = 0;
    /// No process answers where this rank connects to: it has not begun to listen, or its queue is
    /// full. Returns true if the opening continues.
    virtual bool unanswered(tcp_opening& o) = 0;
    /// This rank's own hello was answered. Returns true if the opening continues.
    virtual bool answered(tcp_opening& o, const wire::rendezvous_message& said) = 0;
    /// All bytes that were due arrived, on a connection on which both have greeted. Returns true if
    /// the opening continues.
    virtual bool heard(tcp_opening& o, const bytes& whole) = 0;
    /// The connection ended, and it is no stranger's. Returns true if the opening continues anyway.
    virtual bool lost(tcp_opening& o, const std::string& how) = 0;
    /// Called while an exception from this connection is handled. Returns true if the opening
    /// continues.
    virtual bool broken(tcp_opening&) { throw; }

    // Tools of derived classes

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

    /// `otherwise`: option that set the address, if it is not `bind`.
    void listen_on(const endpoint& at, const char* otherwise);

    /// Place where this rank looks for rank 0 first.
    endpoint begin_search();

    /// Starts the time in which all ranks must meet. A rank that cannot take part looks for rank 0
    /// for a moment, so that the others are notified.
    void begin_meeting();

    /// Throws io_failure if this rank cannot open the descriptors that its job needs.
    void require_descriptors() const;

    void greet(const endpoint& place, int peer, wire::connection_purpose purpose);

    /// Adds descriptors to wait for, and returns the time to wait until at most.
    time_point add_waits(std::vector<pollfd>& waits);

    /// Accepts connections, and makes all possible progress on all connections. Returns false if
    /// `enough` passes before that: handshakes take long on a busy machine. The next call
    /// continues.
    bool advance(time_point enough = (time_point::max)());

    void say(tcp_opening& o, wire::rendezvous_message what);

    /// Notes that rank 0 ended a connection on which it was to greet, and the cause if known.
    /// Otherwise waiting ranks would learn it only at the end of tcp_options::join.
    void note_ended(const tcp_opening& o, const std::string& how);

    static void try_again(tcp_opening& o) noexcept;

    tcp_options options_;
    resolver ask_;
    tcp_leader_search leader_;
    std::string shortage_;  // error text for too few descriptors; empty if there are enough
    tcp_context context_;
    tcp_listener listener_;
    std::uint64_t incarnation_ = 0;
    deadline deadline_;
    failed_tries tries_;  // attempts to be greeted by rank 0
    seen_strangers strangers_;
    std::list<tcp_opening> openings_;
    std::size_t place_ = 0;  // index of the next opening

    /// Throws at the deadline. If an absent rank was turned away because of its configuration, it
    /// throws mismatch, because every attempt would repeat this.
    [[noreturn]] void raise_absence(const std::vector<int>& absent, const std::string& text) const;

private:
    static bool is_of_configuration(wire::refusal why) noexcept;

    /// Moves the connection if rank 0 is known to be elsewhere, while it has not answered.
    void follow_leader(tcp_opening& o);

    /// Advances one opening. Returns false if the connection is of no more use.
    bool step(tcp_opening& o);

    /// Returns find(). A rank that lacks descriptors searches only for a moment. If it finds
    /// nothing in this time, the error is that it lacks them.
    template <class Find>
    auto in_time(Find find) const -> decltype(find()) {
        try {
            return find();
        } catch (const error& e) {
            if (e.code() == errc::timed_out) require_descriptors();
            throw;
        }
    }

    static bool meets(const tcp_opening& o) noexcept;

    void say_hello(tcp_opening& o);

    /// `here`: address by which this rank reaches others, used if it listens on all addresses.
    wire::hello own_hello(wire::connection_purpose purpose, const asio::ip::address& here) const;

    bool take(tcp_opening& o, const bytes& whole);

    /// True if the contacted rank is a process of this user; false if it is gone.
    ///   errors  mismatch: it is another user's; io_failure: this cannot be found out
    bool is_of_this_user(const tcp_opening& o);

    /// The same for a process that has connected to this rank. Processes of other users are turned
    /// away.
    bool may_be_met(const tcp_opening& o);

    [[noreturn]] void refuse_unknown_user() const;

    /// Reports once for each cause why a process may not join: it may be a rank of the job.
    void turn_away(const tcp_opening& o, const std::string& why);

    void warn_once(const std::string& why, const std::string& text);

    bool let_in(tcp_opening& o, byte_view first);

    void note_no_hello(const tcp_opening& o, byte_view said);

    bool be_met(tcp_opening& o, const wire::hello& said);

    static constexpr std::size_t warnings_max = 32;
    static constexpr const char* how_to_join_of_users =
        "give all ranks a secret (tcp_options::security), or set tcp_options::allow_other_users";

    peer_users users_;
    std::set<std::string> warned_;  // causes that were printed on stderr
    std::set<int> misconfigured_;   // ranks turned away for their configuration
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_handshake.ipp"
#endif
