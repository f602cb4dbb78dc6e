#pragma once

#include "sotto/transports/detail/tcp/tcp_handshake.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/diagnostics.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::uint16_t tcp_handshake::listen() {
    if (!listener_.is_open())
        listen_on({in_time([&] { return find_leader(options_, deadline_, ask_); }), options_.port},
                  "address");
    return listener_.place().port();
}

SOTTO_DECL tcp_handshake::tcp_handshake(tcp_context context, const tcp_options& options,
                                        resolver ask)
    : options_(options),
      ask_(std::move(ask)),
      leader_(options_, ask_),
      shortage_(descriptor_shortage(options, descriptors_of_context)),
      context_(std::move(context)),
      listener_(context_) {
    std::random_device entropy;
    incarnation_ = (std::uint64_t{entropy()} << 32 ^ entropy()) | 1;
    deadline_ = deadline(now(), options_.join);
    if (options_.listener >= 0) {
        listener_.adopt(options_.rank, options_.listener);
        require_private(options_, listener_.place().address(), "listener");
    }
}

SOTTO_DECL void tcp_handshake::listen_on(const endpoint& at, const char* otherwise) {
    require_private(options_, at.address(), options_.bind.empty() ? otherwise : "bind");
    try {
        listener_.open(options_.rank, at);
    } catch (const io_failure&) {
        require_descriptors();
        throw;
    }
}

SOTTO_DECL tcp_handshake::endpoint tcp_handshake::begin_search() {
    return in_time([&] { return leader_.begin(deadline_); });
}

SOTTO_DECL void tcp_handshake::begin_meeting() {
    const bool takes_part = shortage_.empty();
    if (!takes_part && options_.rank == 0) require_descriptors();
    constexpr duration a_moment = std::chrono::seconds(1);
    deadline_ = deadline(now(), takes_part ? options_.join : (std::min)(options_.join, a_moment));
    if (options_.size > 1 && options_.security)
        in_time([&] { options_.security->prepare(deadline_); });
}

SOTTO_DECL void tcp_handshake::require_descriptors() const {
    if (!shortage_.empty()) throw io_failure(shortage_);
}

SOTTO_DECL void tcp_handshake::greet(const endpoint& place, int peer,
                                     wire::connection_purpose purpose) {
    openings_.push_back(tcp_opening::to(place, peer, purpose));
}

SOTTO_DECL time_point tcp_handshake::add_waits(std::vector<pollfd>& waits) {
    time_point until = now() + std::chrono::milliseconds(listener_.resting() ? 100 : 1000);
    if (const auto strangers = listener_.waits()) waits.push_back(*strangers);
    for (const tcp_opening& o : openings_) {
        if (o.at == stage::resting)
            until = (std::min)(until, o.until);
        else if (o.at <= stage::hello_due)
            until = (std::min)(until, o.limit.next_look());
        if (!o.socket()) continue;
        const bool connects = o.at == stage::connecting;
        const short interest = connects ? short{POLLOUT} : o.socket()->interest(o.has_output());
        waits.push_back({o.socket()->handle(), interest, 0});
    }
    return until;
}

SOTTO_DECL bool tcp_handshake::advance(time_point enough) {
    listener_.accept([&](std::unique_ptr<tcp_socket> socket, const asio::ip::address& from) {
        const std::string address = from.to_string();
        make_room_for_stranger(openings_, address, options_.size);
        openings_.push_back(tcp_opening::from(
            std::move(socket), address, options_.security ? stage::knock_due : stage::hello_due,
            deadline(now(), options_.handshake)));
    });
    auto o = std::next(openings_.begin(),
                       static_cast<std::ptrdiff_t>((std::min)(place_, openings_.size())));
    for (std::size_t left = openings_.size(); left > 0; --left) {
        if (o == openings_.end()) {
            o = openings_.begin();
            place_ = 0;
        }
        follow_leader(*o);
        // A step may add connections at the end of the list, but removes none.
        bool goes_on = false;
        try {
            goes_on = step(*o);
        } catch (...) {
            goes_on = broken(*o);
        }
        if (!goes_on && o->is_stranger() && !o->closes && o->peer < 0) strangers_.add(o->address);
        o = goes_on ? std::next(o) : openings_.erase(o);
        if (goes_on) ++place_;
        if (left > 1 && now() >= enough) return false;
    }
    return true;
}

SOTTO_DECL void tcp_handshake::say(tcp_opening& o, wire::rendezvous_message what) {
    what.rank = static_cast<std::uint32_t>(options_.rank);
    o.say(wire::written_rendezvous_message(what));
    (void)o.flush();  // the next step detects a failure
}

SOTTO_DECL void tcp_handshake::note_ended(const tcp_opening& o, const std::string& how) {
    const std::string advice = why_not_greeted(options_), why = how + advice;
    tries_.ended(why);
    // Attempts may end in several ways for one cause.
    warn_once(advice, "rank 0 at " + described(o.place()) + " did not greet: " + why +
                          "; this rank tries on until tcp_options::join is over");
}

SOTTO_DECL void tcp_handshake::try_again(tcp_opening& o) noexcept {
    o.rest(now() + std::chrono::milliseconds(20));
}

SOTTO_DECL void tcp_handshake::raise_absence(const std::vector<int>& absent,
                                             const std::string& text) const {
    for (const int rank : absent)
        if (misconfigured_.contains(rank)) throw mismatch(text);
    throw error(errc::timed_out, text);
}

SOTTO_DECL bool tcp_handshake::is_of_configuration(wire::refusal why) noexcept {
    using enum wire::refusal;
    return why == version || why == world || why == epoch || why == rank || why == agreed;
}

SOTTO_DECL void tcp_handshake::follow_leader(tcp_opening& o) {
    if (o.peer != 0 || o.at > stage::connecting || (!meets(o) && !options_.elastic)) return;
    const endpoint place = leader_.look(o.place(), now());
    if (place == o.place()) return;
    o.rest(now());
    o.look_at(place);
}

SOTTO_DECL bool tcp_handshake::step(tcp_opening& o) {
    if (o.at == stage::done) return false;
    if (o.at == stage::resting) {
        if (now() < o.until) return true;
        o.connect(context_, now(), options_.handshake);
        if (!meets(o) || o.no_socket().empty()) return true;
        require_descriptors();
        tries_.unanswered(o.no_socket());
        return true;
    }
    if (o.at == stage::connecting) {
        const connecting_state state = o.socket()->connecting();
        if (state == connecting_state::pending && !o.limit.passed(now())) return true;
        if (state != connecting_state::connected) return unanswered(o);
        say_hello(o);
    }
    const bool is_late = (o.is_stranger() || o.closes) && o.limit.passed(now());
    if (o.closes) return !o.flush() && o.has_output() && !is_late;
    // Process what arrived before a connection ended, then its end.
    std::optional<std::string> ended;
    while (const auto whole = o.read(o.due(index(options_.size)), ended)) {
        if (!take(o, *whole)) return false;
        if (!o.socket()) return true;  // it starts again
    }
    if (o.at == stage::hello_due && !o.may_become_hello()) {
        note_no_hello(o, o.input());
        return false;
    }
    if (o.is_stranger() && is_late) return false;  // also after what was read just now
    if (!ended) ended = o.flush();
    if (!ended) return true;
    if (!o.is_stranger()) return lost(o, *ended);
    if (const auto* const secret = o.socket()->secret(); secret && secret->is_refused())
        turn_away(o, "it has another secret or tcp_options::job (" + *ended + ")");
    return false;
}

SOTTO_DECL bool tcp_handshake::meets(const tcp_opening& o) noexcept {
    return o.purpose == wire::connection_purpose::rendezvous;
}

SOTTO_DECL void tcp_handshake::say_hello(tcp_opening& o) {
    if (options_.security)
        o.socket()->secure(
            options_.security->connect(o.socket()->handle(), options_.job, options_.rank, o.peer));
    const auto here = o.socket()->local_address();
    // This rank may reach rank 0 by another address than the last time.
    if (meets(o) && listener_.is_open() && options_.bind.empty() && options_.listener < 0 &&
        listener_.place().address() != here)
        listener_.close();
    if (meets(o) && !listener_.is_open())
        listen_on({options_.bind.empty() ? here : in_time([&] {
                       return find_address(options_, options_.bind, deadline_, ask_);
                   }),
                   0},
                  "the address by which it reaches rank 0");
    o.say(wire::written_hello(own_hello(o.purpose, here)));
    o.at = stage::welcome_due;
}

SOTTO_DECL wire::hello tcp_handshake::own_hello(wire::connection_purpose purpose,
                                                const asio::ip::address& here) const {
    wire::hello h = hello_of(options_);
    h.purpose = purpose;
    h.incarnation = incarnation_;
    if (listener_.is_open()) {
        endpoint at = listener_.place();
        if (at.address().is_unspecified()) at.address(here);
        h.listens = to_wire(at);
    }
    return h;
}

SOTTO_DECL bool tcp_handshake::take(tcp_opening& o, const bytes& whole) {
    if (o.at == stage::knock_due) return let_in(o, whole);
    if (o.at == stage::hello_due) {
        const auto said = wire::read_hello(whole.data());
        if (!said) note_no_hello(o, whole);
        return said && be_met(o, *said);
    }
    if (o.at != stage::welcome_due) return heard(o, whole);
    const result<wire::rendezvous_message> said = wire::read_rendezvous_message(whole.data());
    if (!said) throw malformed("tcp: a word of " + described(o.place()), said.why());
    // A rank that refuses this one ends its side at once, so it may be gone.
    if (must_be_of_one_user(options_) && !is_of_this_user(o) && said->what != saying::refused)
        return lost(o, "it ended");
    return answered(o, *said);
}

SOTTO_DECL bool tcp_handshake::is_of_this_user(const tcp_opening& o) {
    const auto found = users_.find(*o.socket());
    if (found.whose == peer_user::unknown) refuse_unknown_user();
    if (found.whose == peer_user::other)
        throw mismatch("tcp: " + described(o.place()) + ", where rank " + std::to_string(o.peer) +
                       " is expected, is a port of user " + std::to_string(found.user) +
                       ", and this process is user " + std::to_string(::geteuid()) + "'s; " +
                       how_to_join_of_users);
    return found.whose == peer_user::own;
}

SOTTO_DECL bool tcp_handshake::may_be_met(const tcp_opening& o) {
    const auto found = users_.find(*o.socket());
    if (found.whose == peer_user::unknown) refuse_unknown_user();
    if (found.whose == peer_user::other)
        turn_away(o, "it is a process of user " + std::to_string(found.user) +
                         ", and this one is user " + std::to_string(::geteuid()) + "'s; " +
                         how_to_join_of_users);
    return found.whose == peer_user::own;
}

SOTTO_DECL void tcp_handshake::refuse_unknown_user() const {
    throw io_failure("tcp: rank " + std::to_string(options_.rank) +
                     " cannot find out which user's processes connect to it: neither "
                     "/proc/net/tcp nor the kernel says it; give all ranks a secret "
                     "(tcp_options::security), or set tcp_options::allow_other_users if no "
                     "other user is on this machine");
}

SOTTO_DECL void tcp_handshake::turn_away(const tcp_opening& o, const std::string& why) {
    strangers_.note(why);
    warn_once(why, "turned away a connection from " + o.address + ": " + why);
}

SOTTO_DECL void tcp_handshake::warn_once(const std::string& why, const std::string& text) {
    if (warned_.size() >= warnings_max || !warned_.insert(why).second) return;
    diagnostics(options_.rank, false).say(text);
}

SOTTO_DECL bool tcp_handshake::let_in(tcp_opening& o, byte_view first) {
    if (!options_.security->may_begin_with(first)) {
        if (is_start_of_hello(first))
            turn_away(o, "it has no secret, and this rank has one (tcp_options::security)");
        return false;
    }
    o.socket()->secure(
        options_.security->accept(o.socket()->handle(), options_.job, options_.rank, first));
    o.at = stage::hello_due;
    return true;
}

SOTTO_DECL void tcp_handshake::note_no_hello(const tcp_opening& o, byte_view said) {
    if (is_start_of_tls(said)) turn_away(o, "it has a secret, and this rank has none");
}

SOTTO_DECL bool tcp_handshake::be_met(tcp_opening& o, const wire::hello& said) {
    if (must_be_of_one_user(options_) && !may_be_met(o)) return false;
    wire::rendezvous_message answer =
        judge(said, own_hello(said.purpose, o.socket()->local_address()));
    const int peer = static_cast<int>(said.rank);
    if (const auto* const secret = o.socket()->secret(); secret && secret->client() != peer)
        return false;  // it has the key of another rank
    if (answer.why == wire::refusal::none) {
        answer.theirs = said.rank;
        answer = admit(said, answer);
    }
    if (answer.why != wire::refusal::none) answer.what = saying::refused;
    o.say(wire::written_rendezvous_message(answer));
    if (answer.why != wire::refusal::none) {
        const std::string why = reason(answer, peer, options_.job);
        // Otherwise ranks that wait for that rank would not know the cause until their limit.
        if (answer.why == wire::refusal::agreed) warn_once(why, "turned away: " + why);
        turned_away(why);
        if (is_of_configuration(answer.why) && peer < options_.size) misconfigured_.insert(peer);
        o.closes = true;
        return !o.flush() && o.has_output();
    }
    o.peer = peer;
    o.purpose = said.purpose;
    return met(o, said);
}

}  // namespace sotto::detail::net
