#pragma once

#include "sotto/transports/detail/tcp/tcp_join.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/transports/detail/tcp/tcp_listener.hpp"
#include "sotto/wire/detail/protocols/rank_table.hpp"

namespace sotto::detail::net {

SOTTO_DECL tcp_join::tcp_join(tcp_context context, const tcp_options& options, resolver ask)
    : tcp_handshake(std::move(context), options, std::move(ask)), met_(options) {
    const auto count = static_cast<std::size_t>(options.size);
    made_.control.resize(count);
    made_.data.resize(count);
    made_.incarnations.resize(count);
    made_.incarnations[index(options_.rank)] = incarnation_;
    places_.resize(count);
    ready_.resize(count);
}

SOTTO_DECL tcp_connections tcp_join::run() {
    begin_meeting();
    if (options_.size == 1) return std::move(made_);
    if (options_.rank == 0) {
        listen();
        ready_[0] = true;
        if (!options_.security) listener_.warn_of_strangers();
    } else {
        meeting_ = begin_search();
        greet(meeting_, 0, rendezvous);
    }
    while (!released_) {
        waits_.clear();
        const duration most = met_.add_waits(waits_);
        const time_point until =
            (std::min)({add_waits(waits_), deadline_.next_look(), now() + most});
        wait_for_any(waits_, until - now());
        advance();
        met_.tick();
        while (auto came = met_.next()) hear(*came);
        if (released_) break;
        if (const auto silent = met_.first_silent()) lose(silent->first, silent->second);
        options_.rank == 0 ? lead() : follow();
        if (!released_ && deadline_.passed(now())) give_up();
    }
    return std::move(made_);
}

SOTTO_DECL wire::rendezvous_message tcp_join::admit(const wire::hello& said,
                                                    wire::rendezvous_message answer) {
    const int peer = static_cast<int>(said.rank);
    const bool meets = said.purpose == rendezvous;
    if (peer <= options_.rank || meets != (options_.rank == 0 && said.purpose != data))
        answer.why = wire::refusal::unexpected;
    const std::uint64_t known = made_.incarnations[said.rank];
    const auto& place = said.purpose == data ? made_.data : made_.control;
    const bool taken = meets ? known != 0 : place[said.rank] != nullptr;
    if (taken || (known != 0 && known != said.incarnation)) answer.why = wire::refusal::duplicate;
    return answer;
}

SOTTO_DECL bool tcp_join::met(tcp_opening& o, const wire::hello& said) {
    made_.incarnations[index(o.peer)] = said.incarnation;
    if (o.purpose == rendezvous) {
        places_[index(o.peer)] = said.listens;
        met_.add(o.peer, o.taken_over(), o.output());
        return false;
    }
    if (o.flush() || o.has_output()) return false;  // it will try again
    place_of(o) = o.taken_over();
    return false;
}

SOTTO_DECL bool tcp_join::unanswered(tcp_opening& o) {
    if (o.purpose == rendezvous) tries_.unanswered("no process answered there");
    look_elsewhere(o);
    try_again(o);
    return true;
}

SOTTO_DECL bool tcp_join::answered(tcp_opening& o, const wire::rendezvous_message& said) {
    if (said.what == saying::refused) be_refused(said);
    std::uint64_t& known = made_.incarnations[index(o.peer)];
    require_welcome(said, o.peer, known, described(o.place()));
    known = said.incarnation;
    if (o.purpose == rendezvous) {
        meeting_ = o.place();
        own_address_ = o.socket()->local_address();
        met_.add(o.peer, o.taken_over(), {});
        if (!shortage_.empty()) {
            tell({.what = saying::lacks, .ours = static_cast<std::uint64_t>(options_.rank)});
            require_descriptors();
        }
        // From here on rank 0 reports failures. It waits for other ranks, and then for connections.
        deadline_ = deadline(now(), 3 * options_.join + options_.dead_after);
        return false;
    }
    place_of(o) = o.taken_over();
    return false;
}

SOTTO_DECL bool tcp_join::lost(tcp_opening& o, const std::string& how) {
    if (o.purpose == rendezvous) note_ended(o, how);
    look_elsewhere(o);
    try_again(o);
    return true;
}

SOTTO_DECL void tcp_join::look_elsewhere(tcp_opening& o) {
    if (o.purpose != rendezvous) return;
    meeting_ = leader_.after(o.place(), now());
    o.look_at(meeting_);
}

SOTTO_DECL void tcp_join::be_refused(const wire::rendezvous_message& said) const {
    require_sockets(openings_, made_.lacking(options_.rank), options_);
    raise(said, options_.rank, options_.job);
}

SOTTO_DECL std::unique_ptr<tcp_socket>& tcp_join::place_of(const tcp_opening& o) noexcept {
    return (o.purpose == data ? made_.data : made_.control)[index(o.peer)];
}

SOTTO_DECL void tcp_join::hear(const rendezvous_channel::arrival& came) {
    if (came.why) {
        if (releases_) return;  // it has all that it needs: the job detects how it ended
        if (came.malformed_by && options_.rank != 0)
            throw malformed("tcp: a word of " + described(meeting_), *came.malformed_by);
        lose(came.peer, *came.why);
    }
    if (came.said.what == saying::refused) be_refused(came.said);
    options_.rank == 0 ? hear_follower(came) : hear_leader(came);
}

SOTTO_DECL void tcp_join::hear_leader(const rendezvous_channel::arrival& came) {
    if (came.said.what == saying::table) meet_all(came.table);
    if (came.said.what != saying::go) return;
    made_.control[0] = met_.take(0);
    released_ = true;
}

SOTTO_DECL void tcp_join::meet_all(const bytes& table) {
    const auto places = wire::read_rank_table(table, index(options_.size));
    if (!places) throw malformed("tcp: the table of ranks that rank 0 sent", places.why());
    greet(meeting_, 0, data);
    for (int lower = 1; lower < options_.rank; ++lower) {
        const endpoint there = on_link_of(from_wire((*places)[index(lower)]), own_address_);
        require_private(options_, there.address(), "the address of rank " + std::to_string(lower));
        for (const auto purpose : {control, data}) greet(there, lower, purpose);
    }
    connects_.emplace(now(), options_.join);
}

SOTTO_DECL void tcp_join::hear_follower(const rendezvous_channel::arrival& came) {
    if (came.said.what == saying::ready) ready_[index(came.peer)] = true;
    const auto lacking = static_cast<int>(came.said.ours);
    if (came.said.what == saying::lacks && lacking == came.peer)
        lose(came.peer, "it can open too few descriptors for the job; its own error says how many");
    if (came.said.what == saying::lacks && came.said.ours < places_.size())
        lose(lacking, "rank " + std::to_string(came.peer) + " could not connect to it within " +
                          limit_of_join(options_));
}

SOTTO_DECL void tcp_join::lead() {
    if (!all_met_) {
        if (met_.size() < places_.size() - 1) return;
        met_.say({.what = saying::table}, wire::written_rank_table(places_));
        all_met_ = true;
        // Longer than the others try to connect, so that they report the ranks that they could not
        // reach.
        deadline_ = deadline(now(), 2 * options_.join);
    }
    const bool all_ready = std::find(ready_.begin(), ready_.end(), false) == ready_.end();
    if (!all_ready || made_.lacking(options_.rank)) return;
    // From here on the ranks connected to a lost rank detect it, as in the job.
    releases_ = true;
    released_ = met_.release([&](int peer, std::unique_ptr<tcp_socket> socket) {
        made_.control[index(peer)] = std::move(socket);
    });
}

SOTTO_DECL void tcp_join::follow() {
    if (said_ready_ || !connects_) return;
    const std::optional<int> lacks = made_.lacking(options_.rank);
    if (lacks && !connects_->passed(now())) return;
    require_sockets(openings_, lacks, options_);
    wire::rendezvous_message word{.what = lacks ? saying::lacks : saying::ready};
    if (lacks) word.ours = static_cast<std::uint64_t>(*lacks);
    met_.say(word);
    said_ready_ = !lacks;
    if (lacks) connects_.emplace(now(), options_.join);  // rank 0 has the message until then
}

SOTTO_DECL void tcp_join::lose(int rank, const std::string& how) {
    if (options_.rank == 0)
        tell({.what = saying::refused,
              .why = wire::refusal::lost,
              .ours = static_cast<std::uint64_t>(rank)});
    throw peer_failure(rank, how, {.phase = "rendezvous"});
}

SOTTO_DECL void tcp_join::tell(const wire::rendezvous_message& word) {
    met_.say(word);
    close_when_heard(met_.take_all(), std::chrono::milliseconds(500));
}

SOTTO_DECL void tcp_join::give_up() {
    if (options_.rank != 0) {
        const std::string where = options_.address + " port " + std::to_string(options_.port);
        for (const tcp_opening& o : openings_)
            if (o.at == stage::welcome_due && o.purpose == rendezvous)
                tries_.not_greeted("it was let in and not greeted" + why_not_greeted(options_));
        require_descriptors();
        throw error(errc::timed_out, "tcp: rank " + std::to_string(options_.rank) +
                                         " waited for rank 0 at " + where + " (" +
                                         meeting_.address().to_string() + ") for " +
                                         limit_of_join(options_) + tries_.described());
    }
    if (all_met_)
        for (int rank = 1; rank < options_.size; ++rank)
            if (!ready_[index(rank)] || !made_.data[index(rank)])
                lose(rank, "it did not connect to all others within " + limit_of_join(options_));
    const std::vector<int> absent = made_.absent();
    tell({.what = saying::refused,
          .why = wire::refusal::absent,
          .ours = static_cast<std::uint64_t>(absent.front()),
          .theirs = absent.size()});
    raise_absence(absent, "tcp: " + std::to_string(absent.size()) + " of " +
                              std::to_string(options_.size) + " ranks did not come (" +
                              listed(absent) + ") to rank 0 at " + described(listener_.place()) +
                              " within " + limit_of_join(options_) +
                              (turned_away_.empty() ? "" : "; turned away: " + turned_away_) +
                              strangers_.described(options_));
}

}  // namespace sotto::detail::net
