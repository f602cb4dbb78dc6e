#pragma once

#include "sotto/transports/detail/tcp/tcp_rendezvous.hpp"

#include <algorithm>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"

namespace sotto::detail::net {

SOTTO_DECL tcp_connections tcp_rendezvous::run() {
    begin_meeting();
    if (options_.size > 1) meet();
    tcp_connections made;
    made.control.resize(peers_.size());
    made.data.resize(peers_.size());
    made.incarnations.resize(peers_.size());
    made.incarnations[index(options_.rank)] = incarnation_;
    while (auto come = next_arrival()) {
        const std::size_t which = index(come->rank);
        made.control[which] = std::move(come->control);
        made.data[which] = std::move(come->data);
        made.incarnations[which] = come->incarnation;
    }
    return made;
}

SOTTO_DECL time_point tcp_rendezvous::add_waits(std::vector<pollfd>& waits) {
    time_point until = tcp_handshake::add_waits(waits);
    for (const peer& p : peers_)
        if (p.wanted && !p.connects) until = (std::min)(until, p.next_try);
    return until;
}

SOTTO_DECL bool tcp_rendezvous::advance(time_point enough) {
    const bool all = tcp_handshake::advance(enough);
    options_.rank == 0 ? lead() : follow();
    if (!released_ && deadline_.passed(now())) give_up();
    return all;
}

SOTTO_DECL std::optional<tcp_rendezvous::arrival> tcp_rendezvous::next_arrival() {
    if (arrivals_.empty()) return std::nullopt;
    arrival first = std::move(arrivals_.front());
    arrivals_.pop_front();
    return first;
}

SOTTO_DECL void tcp_rendezvous::gone(int rank, bool left) {
    peer& p = at(rank);
    end_connecting(rank);
    p = {.place = p.place, .wanted = rank < options_.rank && p.place && !left};
}

SOTTO_DECL void tcp_rendezvous::meet() {
    began_ = now();
    if (options_.rank == 0) {
        listen();
        if (!options_.security) listener_.warn_of_strangers();
    } else {
        meeting_ = begin_search();
        at(0).place = meeting_;
        greet(meeting_, 0, rendezvous);
    }
    std::vector<pollfd> waits;
    while (!released_) {
        waits.clear();
        const time_point until = (std::min)(add_waits(waits), deadline_.next_look());
        wait_for_any(waits, until - now());
        advance();
    }
}

SOTTO_DECL duration tcp_rendezvous::pause_max() const noexcept {
    constexpr duration most = std::chrono::milliseconds(250);
    if (options_.dead_after <= duration::zero()) return most;
    return std::clamp<duration>(options_.dead_after / 8, pause_min, most);
}

SOTTO_DECL wire::rendezvous_message tcp_rendezvous::admit(const wire::hello& said,
                                                          wire::rendezvous_message answer) {
    const int rank = static_cast<int>(said.rank);
    const peer& p = at(rank);
    if (rank == options_.rank || (said.purpose == rendezvous && options_.rank != 0))
        answer.why = wire::refusal::unexpected;
    else if (p.is_here && (said.purpose != rendezvous || p.incarnation != said.incarnation))
        answer.why = wire::refusal::duplicate;
    else if (rank < options_.rank && ((said.purpose == control && has_said_hello(rank)) ||
                                      (said.purpose == data && p.connects)))
        answer.why = wire::refusal::duplicate;
    else if (said.purpose == data && (!p.control || p.incarnation != said.incarnation))
        answer.why = wire::refusal::unexpected;
    return answer;
}

SOTTO_DECL bool tcp_rendezvous::met(tcp_opening& o, const wire::hello& said) {
    peer& p = at(o.peer);
    if (said.listens.port != 0)
        p.place = on_link_of(from_wire(said.listens), o.socket()->local_address());
    if (o.purpose == rendezvous) {
        p.met = said.incarnation;
        p.ready = false;
        o.at = stage::parked;
        tell_places(o);
        return true;
    }
    if (o.flush() || o.has_output()) return false;  // it will try again
    if (o.purpose == control) {
        end_connecting(o.peer);
        p.next_try = now() + pause_max();  // unless its other connection arrives before
        // A rank that connects without the table was in the job before: this rank has restarted.
        if (options_.rank == 0 && p.met != said.incarnation) resumes_ = true;
    }
    take_over(o, said.incarnation);
    return false;
}

SOTTO_DECL bool tcp_rendezvous::unanswered(tcp_opening& o) {
    look_elsewhere(o);
    if (o.purpose != rendezvous) return retreat(o);
    tries_.unanswered("no process answered there");
    try_again(o);
    return true;
}

SOTTO_DECL bool tcp_rendezvous::answered(tcp_opening& o, const wire::rendezvous_message& said) {
    if (said.what == saying::refused) {
        if (o.purpose != rendezvous) return retreat(o);
        // Its previous process may not be known to be gone.
        if (said.why != wire::refusal::duplicate) raise(said, options_.rank, options_.job);
        tries_.ended(reason(said, options_.rank, options_.job));
        try_again(o);
        return true;
    }
    const bool known = o.purpose == data;
    require_welcome(said, o.peer, known ? at(o.peer).incarnation : 0, described(o.place()));
    if (o.peer == 0) at(0).place = o.place();
    if (o.purpose == rendezvous) {
        require_descriptors();
        o.at = stage::parked;
        // From here on rank 0 reports failures: it waits for other ranks, and for connections.
        deadline_ = deadline(now(), 3 * options_.join);
        return true;
    }
    if (o.purpose == control) greet(o.place(), o.peer, data);
    take_over(o, said.incarnation);
    return false;
}

SOTTO_DECL bool tcp_rendezvous::heard(tcp_opening& o, const bytes& whole) {
    if (o.at == stage::table_due) return learn(o, whole);
    const result<wire::rendezvous_message> said = wire::read_rendezvous_message(whole.data());
    if (!said) return lost(o, "it sent what is no word: " + said.why().text());
    if (said->what == saying::table && options_.rank != 0) o.at = stage::table_due;
    if (said->what == saying::ready && options_.rank == 0) at(o.peer).ready = true;
    if (said->what == saying::go) released_ = true;
    return said->what != saying::go;
}

SOTTO_DECL bool tcp_rendezvous::lost(tcp_opening& o, const std::string& how) {
    if (o.purpose != rendezvous) return retreat(o);
    if (options_.rank == 0) {
        at(o.peer).met = 0;
        return false;
    }
    note_ended(o, how);
    if (o.at == stage::welcome_due) look_elsewhere(o);
    said_ready_ = false;
    try_again(o);
    return !released_;
}

SOTTO_DECL void tcp_rendezvous::look_elsewhere(tcp_opening& o) {
    if (o.peer != 0) return;
    o.look_at(leader_.after(o.place(), now()));
    at(0).place = meeting_ = o.place();
}

SOTTO_DECL bool tcp_rendezvous::broken(tcp_opening& o) {
    if (!released_) throw;
    return o.is_stranger() || o.purpose == rendezvous ? false : retreat(o);
}

SOTTO_DECL bool tcp_rendezvous::learn(tcp_opening& o, const bytes& table) {
    const auto places = wire::read_rank_table(table, index(options_.size));
    if (!places) throw malformed("tcp: the table of ranks that rank 0 sent", places.why());
    for_each_other([&](int rank, peer& p) {
        if (rank != 0) {
            const endpoint there =
                on_link_of(from_wire((*places)[index(rank)]), o.socket()->local_address());
            if (there.port() == 0) return;
            require_private(options_, there.address(),
                            "the address of rank " + std::to_string(rank));
            p.place = there;
        }
        p.wanted = !p.is_here;
        p.waited_until = now() + 2 * pause_max();
    });
    o.at = stage::parked;
    knows_all_ = true;
    return true;
}

SOTTO_DECL void tcp_rendezvous::tell_places(tcp_opening& to) {
    to.say(wire::written_rendezvous_message({.what = saying::table}));
    to.say(wire::written_rank_table(places_there(to.peer)));
    (void)to.flush();
}

SOTTO_DECL std::vector<wire::listening_place> tcp_rendezvous::places_there(int but) {
    std::vector<wire::listening_place> places(peers_.size());
    for_each_other([&](int rank, const peer& p) {
        if (rank != but && p.place && (p.is_here || p.met != 0))
            places[index(rank)] = to_wire(*p.place);
    });
    return places;
}

SOTTO_DECL void tcp_rendezvous::take_over(tcp_opening& o, std::uint64_t incarnation) {
    peer& p = at(o.peer);
    (o.purpose == data ? p.data : p.control) = o.taken_over();
    p.incarnation = incarnation;
    if (o.purpose != data) return;
    end_connecting(o.peer);
    p.is_here = true;
    p.wanted = false;
    p.pause = pause_min;
    arrivals_.push_back({o.peer, incarnation, std::move(p.control), std::move(p.data)});
    // This rank was in the job before. Ranks that ask for the table now do not know of it.
    if (options_.rank == 0 && p.met != incarnation)
        for (tcp_opening& waiting : openings_)
            if (waiting.at == stage::parked && !waiting.closes) tell_places(waiting);
}

SOTTO_DECL bool tcp_rendezvous::retreat(tcp_opening& o) {
    peer& p = at(o.peer);
    if (!p.connects) return false;
    p.connects = false;
    p.control.reset();
    p.next_try = now() + p.pause;
    p.pause = std::min<duration>(2 * p.pause, pause_max());
    if (o.peer > options_.rank && now() > p.waited_until) p.wanted = false;
    return false;
}

SOTTO_DECL bool tcp_rendezvous::has_said_hello(int rank) {
    return at(rank).connects &&
           std::any_of(openings_.begin(), openings_.end(), [&](const tcp_opening& o) {
               return o.peer == rank && o.at == stage::welcome_due && o.purpose != rendezvous;
           });
}

SOTTO_DECL void tcp_rendezvous::end_connecting(int rank) {
    at(rank).connects = false;
    for (tcp_opening& o : openings_)
        if (o.peer == rank && o.purpose != rendezvous && o.at <= stage::welcome_due &&
            !o.is_stranger())
            (void)o.taken_over();
}

SOTTO_DECL void tcp_rendezvous::connect_to_wanted() {
    for_each_other([&](int rank, peer& p) {
        if (!p.wanted || p.connects || now() < p.next_try) return;
        p.connects = true;
        greet(*p.place, rank, control);
    });
}

SOTTO_DECL void tcp_rendezvous::lead() {
    bool all = true, any = false;
    for_each_other([&](int, const peer& p) {
        all = all && p.is_here && (p.ready || p.met == 0);
        any = any || p.is_here;
    });
    const time_point present = now();
    if (all ||
        (any && (deadline_.passed(present) || (resumes_ && present - began_ >= 2 * pause_max()))))
        released_ = true;
    if (!released_) return;
    for (tcp_opening& o : openings_) {
        if (o.at != stage::parked || o.closes || !at(o.peer).ready) continue;
        say(o, {.what = saying::go});
        o.closes = true;
        o.limit = deadline(present, options_.handshake);
    }
}

SOTTO_DECL void tcp_rendezvous::follow() {
    connect_to_wanted();
    if (!knows_all_ || said_ready_ || released_) return;
    bool waits = false;
    for_each_other([&](int rank, const peer& p) {
        waits = waits || (p.wanted && (rank == 0 || now() < p.waited_until));
    });
    if (waits) return;
    for (tcp_opening& o : openings_)
        if (o.at == stage::parked) {
            say(o, {.what = saying::ready});
            said_ready_ = true;
        }
}

SOTTO_DECL void tcp_rendezvous::give_up() {
    require_descriptors();
    const std::string limit = " within " + limit_of_join(options_);
    if (options_.rank != 0)
        throw error(errc::timed_out, "tcp: rank " + std::to_string(options_.rank) +
                                         " was not let into its job by rank 0 at " +
                                         described(meeting_) + limit + tries_.described());
    std::vector<int> absent;
    for (int rank = 1; rank < options_.size; ++rank) absent.push_back(rank);
    raise_absence(absent, "tcp: no other rank came to rank 0 at " + described(listener_.place()) +
                              limit +
                              (turned_away_.empty() ? "" : "; turned away: " + turned_away_) +
                              strangers_.described(options_));
}

}  // namespace sotto::detail::net
