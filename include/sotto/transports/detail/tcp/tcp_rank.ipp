#pragma once

#include "sotto/transports/detail/tcp/tcp_rank.hpp"

#include <cstddef>
#include <functional>

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

SOTTO_DECL tcp_rank::~tcp_rank() {
    if (!owner_.is_this()) {
        leave_to_parent();
        return;
    }
    if (unwinding_.begun()) fail(unwound_cause);
    control_.gather_no_more();
    if (!withdrawn_) {
        exchange_.abandon();
        links_.close_when_heard(options_.timeout, [&] { return !control_.failed(); });
    }
    control_.stop();
}

SOTTO_DECL request tcp_rank::send(int to, tag label, byte_view out) {
    begin();
    require_here(to);
    transfer& t = exchange_.send(to, label, out);
    const request made = message_exchange::request_of(t);
    if (to != rank()) links_.write(to);
    return made;
}

SOTTO_DECL request tcp_rank::receive(int from, tag label, mutable_byte_view in) {
    begin();
    if (!exchange_.holds(from, label)) require_here(from);
    transfer& t = exchange_.receive(from, label, in);
    const request made = message_exchange::request_of(t);
    links_.write_to_all();  // so that a waiting message is sent
    return made;
}

SOTTO_DECL std::optional<completion> tcp_rank::poll(request r) {
    begin();
    transfer& t = exchange_.find(r);
    if (in_flight(t)) {
        links_.move_now_and_then();
        let_go();
        if (in_flight(t)) {
            require_possible(t);
            return std::nullopt;
        }
    }
    return finish(t);
}

SOTTO_DECL completion tcp_rank::wait(request r) {
    begin();
    transfer& t = exchange_.find(r);
    block([&] { return !in_flight(t); }, [&] { return t.peer; }, [&] { return described(t); },
          [&] { require_possible(t); });
    return finish(t);
}

SOTTO_DECL void tcp_rank::await(std::uint64_t seen) {
    begin();
    if (activity() != seen) return;
    const transfer* const waited = exchange_.longest_waiting();
    if (!waited && !tolerates_)
        exchange_.misuse("await, but no transfer is under way that could end it");
    // While ranks may leave and return, the caller has its own time limit.
    const time_point enough = tolerates_ ? now() + waiting_time::slice_max : (time_point::max)();
    block([&] { return activity() != seen || now() >= enough; },
          [&] { return waited ? waited->peer : any_rank; },
          [&] { return waited ? described(*waited) : std::string("any change"); },
          [&] {
              if (!links_.all_open())
                  exchange_.for_each_under_way([&](const transfer& t) { require_possible(t); });
          });
}

SOTTO_DECL tcp_rank::ballot& tcp_rank::open_ballot(std::span<const int> members,
                                                   std::uint32_t label) {
    return control_.with(
        [&](membership& m) -> std::reference_wrapper<ballot> { return m.open(members, label); });
}

SOTTO_DECL bool tcp_rank::agree(ballot& among, bool vote) {
    begin();
    if (!among.has(rank()))
        throw invalid_option("tcp: rank " + std::to_string(rank()) +
                             " votes in a ballot that it is not a member of");
    control_.listen();  // before the vote: the others may have dropped this rank while it hung
    const std::uint64_t poll = control_.with([&](membership& m) { return m.vote(among, vote); });
    std::optional<bool> verdict;
    bool settled = false;  // there will be no verdict
    std::uint64_t looked_at = control_.news() - 1;
    int absent = any_rank, gone = any_rank;
    const auto look = [&] {
        control_.listen();
        const std::uint64_t news = control_.news();
        if (std::exchange(looked_at, news) == news) return verdict || settled;
        control_.with([&](membership& m) {
            using enum membership::standing;
            if (among.completed > poll)
                verdict = among.verdict;
            else if ((absent = m.first_absent(among)) >= 0 && tolerates_)
                gone = m.is_voteless(absent) ? absent : any_rank;
            else if (absent >= 0 && m.of(absent) == left)
                m.fail(absent, left_cause);
            settled = gone >= 0 || m.settled();
        });
        return verdict || settled;
    };
    block(
        look, [&] { return absent; }, [] { return std::string("a vote"); }, [] {}, &among);
    if (!verdict && gone >= 0) throw peer_failure(gone, "there is no vote of it", phase_);
    if (!verdict) raise();
    return *verdict;
}

SOTTO_DECL void tcp_rank::withdraw() noexcept {
    if (!owner_.is_this()) return leave_to_parent();
    withdrawn_ = true;
    control_.gather_no_more();
    exchange_.abandon();
    links_.close();
}

SOTTO_DECL void tcp_rank::fail(std::string_view cause, errc kind) noexcept {
    if (!owner_.is_this()) return leave_to_parent();
    try {
        control_.with([&](membership& m) {
            if (!m.first_failure()) m.fail(rank(), std::string(cause), kind);
        });
    } catch (...) {  // no memory for the text: closing reports the failure without it
    }
    withdraw();
}

SOTTO_DECL void tcp_rank::blame(int rank, const std::string& cause, errc code) {
    accuse(rank, cause, code);
    if (!tolerates_) raise();
    if (rank == this->rank()) withdraw();
    throw peer_failure(rank, cause, phase_, code);
}

SOTTO_DECL void tcp_rank::tolerate() {
    control_.with([](membership& m) { m.tolerate(); });
    tolerates_ = true;
}

SOTTO_DECL std::optional<rank_change> tcp_rank::next_change() {
    begin();
    let_go();
    if (changes_.empty()) return std::nullopt;
    tcp_control::change first = std::move(changes_.front());
    changes_.pop_front();
    const int peer = first.what.rank;
    if (!first.is_here()) {
        let_go_of(peer);
        return rank_change{peer, false, first.what.code == errc{}, std::move(first.what.cause)};
    }
    links_.open(peer, std::move(first.data));
    exchange_.forget(peer);
    connect(peer, first.incarnation);
    links_.read(peer);  // poll(2) does not report data that arrived with the greeting
    return rank_change{peer, true};
}

SOTTO_DECL tcp_rank::tcp_rank(const tcp_options& options, tcp_connections connections,
                              std::unique_ptr<tcp_rendezvous> gathering)
    : options_(options),
      incarnation_(connections.incarnations[static_cast<std::size_t>(options.rank)]),
      exchange_("tcp", options.rank, options.size),
      control_(membership_of(options, connections), std::move(connections.control), woken_,
               std::move(gathering)),
      links_(exchange_, control_, std::move(connections.data)),
      tolerates_(options.elastic) {
    for (int peer = 0; peer < size(); ++peer)
        if (links_.is_open(peer))
            connect(peer, connections.incarnations[static_cast<std::size_t>(peer)]);
    std::vector<int> everyone(static_cast<std::size_t>(size()));
    for (int peer = 0; peer < size(); ++peer) everyone[static_cast<std::size_t>(peer)] = peer;
    everyone_ = &open_ballot(everyone, 0);
    reserve(options.transfers);
    // Data that arrived with the end of the handshake is there, but poll(2) does not report it.
    links_.read_all();
    control_.start();  // last: an earlier failure ends all connections at once
}

SOTTO_DECL membership tcp_rank::membership_of(const tcp_options& options,
                                              const tcp_connections& of) {
    membership made{
        options.rank,
        options.size,
        0,
        // A rank that joins while others work may meet them for up to three times `join`.
        {options.heartbeat, options.dead_after,
         (std::max)(options.elastic ? 3 * options.join : options.join, options.dead_after), "tcp",
         options.size, /*settling*/ 10},
        [&](int from, int to) { return of.seed(from, to, control_seed); },
        std::chrono::steady_clock::now()};
    if (options.elastic) {
        made.tolerate();
        for (const int absent : of.absent()) made.fail(absent, "it has not come");
    }
    return made;
}

SOTTO_DECL void tcp_rank::connect(int peer, std::uint64_t incarnation) {
    exchange_.connect(peer,
                      {.epoch = 0,
                       .seed_out = link_seed(rank(), incarnation_, peer, incarnation, data_seed),
                       .seed_in = link_seed(peer, incarnation, rank(), incarnation_, data_seed),
                       .budget = options_.budget,
                       .part = wire::message_part_bytes});
}

SOTTO_DECL bool tcp_rank::in_flight(const transfer& t) noexcept {
    return t.reached == transfer::stage::posted;
}

SOTTO_DECL void tcp_rank::begin() {
    if (control_.failed()) raise();
    if (withdrawn_) exchange_.misuse("called after it withdrew");
}

SOTTO_DECL void tcp_rank::require_here(int peer) const {
    if (tolerates_ && peer >= 0 && peer < size() && peer != rank() && !links_.is_open(peer))
        throw peer_failure(peer, "it went", phase_);
}

SOTTO_DECL void tcp_rank::let_go() {
    const std::uint64_t news = control_.news();
    if (!tolerates_ || std::exchange(heard_, news) == news) return;
    while (auto change = control_.next_change()) {
        if (!change->is_here()) let_go_of(change->what.rank);
        changes_.push_back(std::move(*change));
    }
}

SOTTO_DECL void tcp_rank::let_go_of(int peer) {
    if (!links_.is_open(peer) && !exchange_.link_to(peer)) return;
    if (links_.is_open(peer)) links_.read(peer);  // data sent before
    links_.forget(peer);
    exchange_.disconnect(peer);
}

SOTTO_DECL completion tcp_rank::finish(transfer& t) {
    if (t.reached == transfer::stage::lost) {
        const int peer = t.peer;
        exchange_.retire(t);
        throw peer_failure(peer, "it went", phase_);
    }
    if (t.reached == transfer::stage::too_long) {
        const std::string text = too_long(t, rank());
        fail(text, errc::mismatch);
        throw mismatch(text);
    }
    return exchange_.finish(t);
}

SOTTO_DECL void tcp_rank::accuse(int peer, const std::string& cause, errc code) {
    control_.with([&](membership& m) { m.fail(peer, cause, code); });
}

SOTTO_DECL void tcp_rank::require_possible(const transfer& t) {
    const int peer = t.peer;
    if (peer == rank() || (peer != any_rank && links_.is_open(peer))) return;
    if (peer == any_rank && (links_.any_open() || size() == 1)) return;
    const int gone = peer == any_rank ? (rank() == 0 ? 1 : 0) : peer;
    control_.listen();
    const auto is = control_.with([&](membership& m) { return m.of(gone); });
    if (is == membership::standing::left) {
        if (!tolerates_) accuse(gone, left_cause);
    }
    // Otherwise word of its failure is on its way. A rank whose data connection alone broke has
    // failed.
    else if (const auto why = links_.why_lost(gone); why && is == membership::standing::alive)
        accuse(gone, *why);
    if (control_.failed()) raise();
}

SOTTO_DECL void tcp_rank::give_up(int peer, const std::string& what) {
    const std::string how = how_late(what);
    if (peer < 0) throw error(errc::timed_out, "tcp: " + how);
    accuse(peer, "it was late: " + how, errc::timed_out);
}

SOTTO_DECL void tcp_rank::be_late(int peer, const std::string& what) {
    control_.with([&](membership& m) {
        m.fail(m.end_of_chain(peer), "it was late: " + how_late(what), errc::timed_out);
    });
}

SOTTO_DECL std::string tcp_rank::how_late(const std::string& what) const {
    return waited_in_vain("tcp", rank(), options_.timeout, what);
}

SOTTO_DECL void tcp_rank::raise() {
    withdraw();  // first: the caller's memory is freed while the exception unwinds
    const auto why = control_.with([](membership& m) { return m.first_failure(); });
    if (!why) throw peer_failure(rank(), "its memory is used up", phase_);
    throw peer_failure(why->rank, why->cause, phase_, why->code);
}

}  // namespace sotto::detail::net
