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

/// The connections that a rank opens with others, from either side, as far as both have greeted:
/// whom it expects, and what is said afterwards, is for those who inherit.
class tcp_handshake {
public:
    /// Opens the port that others find rank 0 at, to know it where it was given as 0.
    std::uint16_t listen();

protected:
    using endpoint = asio::ip::tcp::endpoint;
    using stage = tcp_opening::stage;
    using saying = wire::saying;

    tcp_handshake(tcp_context context, const tcp_options& options, resolver ask);
    tcp_handshake(const tcp_handshake&) = delete;
    tcp_handshake& operator=(const tcp_handshake&) = delete;
    virtual ~tcp_handshake() = default;

    // What those who inherit decide

    /// A hello of this job came: the answer, a welcome unless it is made a refusal.
    virtual wire::rendezvous_message admit(const wire::hello& said,
                                           wire::rendezvous_message answer) = 0;
    /// The answer to it, a welcome, is said; whether the opening goes on.
    virtual bool met(tcp_opening& o, const wire::hello& said) = 0;
    /// It was refused: why, in a sentence.
    virtual void turned_away(const std::string& why) = 0;
    /// Nobody answers where this rank connects to: its process has not begun to listen, or its
    /// queue is full. Whether the opening goes on.
    virtual bool unanswered(tcp_opening& o) = 0;
    /// This rank's own hello was answered.
    virtual bool answered(tcp_opening& o, const wire::rendezvous_message& said) = 0;
    /// All that was due came, of a connection on which both have greeted.
    virtual bool heard(tcp_opening& o, const bytes& whole) = 0;
    /// It ended, and no stranger's; whether the opening goes on all the same.
    virtual bool lost(tcp_opening& o, const std::string& how) = 0;
    /// Called while an exception is handled that came of it.
    virtual bool broken(tcp_opening&) { throw; }

    // What they do it with

    static time_point now() noexcept { return std::chrono::steady_clock::now(); }
    static std::size_t index(int rank) noexcept { return static_cast<std::size_t>(rank); }

    /// `otherwise`: where the address comes from, if not from `bind`.
    void listen_on(const endpoint& at, const char* otherwise);

    /// Where this rank looks for rank 0 first.
    endpoint begin_search();

    /// Starts the time in which all have to meet. A rank that cannot take part looks for rank 0 for
    /// a moment, so that the others are told.
    void begin_meeting();

    /// Throws io_failure if this rank cannot open the descriptors that its job takes.
    void require_descriptors() const;

    void greet(const endpoint& place, int peer, wire::connection_purpose purpose);

    /// Adds what is to be waited for; until when at most.
    time_point add_waits(std::vector<pollfd>& waits);

    /// Lets in who has come, and does with all connections what can be done. Returns false when it
    /// is `enough` before that: handshakes take long on a busy machine. The next call continues.
    bool advance(time_point enough = (time_point::max)());

    void say(tcp_opening& o, wire::rendezvous_message what);

    /// Rank 0 ended a connection on which it was to greet. Why, as far as it is known: ranks that
    /// wait would else learn it at the end of tcp_options::join.
    void note_ended(const tcp_opening& o, const std::string& how);

    static void try_again(tcp_opening& o) noexcept;

    tcp_options options_;
    resolver ask_;
    tcp_leader_search leader_;
    std::string shortage_;  // of descriptors, before this rank opened any; empty if none
    tcp_context context_;
    tcp_listener listener_;
    std::uint64_t incarnation_ = 0;
    deadline deadline_;
    failed_tries tries_;  // to be greeted by rank 0
    seen_strangers strangers_;
    std::list<tcp_opening> openings_;
    std::size_t place_ = 0;  // of the opening that is next

    /// Throws at the deadline. Where one of the ranks that are absent was turned away because of
    /// its configuration, that is the reason, which every attempt would repeat.
    [[noreturn]] void raise_absence(const std::vector<int>& absent, const std::string& text) const;

private:
    static bool is_of_configuration(wire::refusal why) noexcept;

    /// While rank 0 has not answered, it may be known to be elsewhere.
    void follow_leader(tcp_opening& o);

    /// False if the connection is of no more use.
    bool step(tcp_opening& o);

    /// Returns find(). A rank that lacks descriptors looks for a moment only: if it finds nothing
    /// by then, the error is that it lacks them.
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

    /// `here`: the address by which this rank reaches others, for one that listens on all it has.
    wire::hello own_hello(wire::connection_purpose purpose, const asio::ip::address& here) const;

    bool take(tcp_opening& o, const bytes& whole);

    /// Whether the rank that was asked is a process of this user; false if it is gone.
    ///   errors  mismatch: it is another user's; io_failure: there is no way to know
    bool is_of_this_user(const tcp_opening& o);

    /// The same of one that has connected to this rank: others may try, and are turned away.
    bool may_be_met(const tcp_opening& o);

    [[noreturn]] void refuse_unknown_user() const;

    /// Says once for each reason why somebody may not join: it may be a rank of the job.
    void turn_away(const tcp_opening& o, const std::string& why);

    void warn_once(const std::string& why, const std::string& text);

    bool let_in(tcp_opening& o, byte_view first);

    void note_no_hello(const tcp_opening& o, byte_view said);

    bool be_met(tcp_opening& o, const wire::hello& said);

    static constexpr std::size_t warnings_max = 32;
    static constexpr const char* how_to_join_of_users =
        "give all ranks a secret (tcp_options::security), or set tcp_options::allow_other_users";

    peer_users users_;
    std::set<std::string> warned_;  // why, of all that was said on stderr
    std::set<int> misconfigured_;   // ranks that were turned away for it
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_handshake.ipp"
#endif
