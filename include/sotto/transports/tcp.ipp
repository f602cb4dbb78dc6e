#pragma once

#include "sotto/transports/tcp.hpp"

#include <cstddef>
#include <functional>
#include <stdexcept>

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto {

SOTTO_DECL tcp::meeting::meeting(const tcp_options& options) : options_(options) {
    detail::net::require_possible(options);
    auto context = detail::net::open_context(options);
    if (options.elastic)
        gathering_ = std::make_unique<detail::net::tcp_gathering>(std::move(context), options);
    else
        joining_ = std::make_unique<detail::net::tcp_join>(std::move(context), options);
}

SOTTO_DECL std::uint16_t tcp::meeting::port() {
    require_open();
    return gathering_ ? gathering_->listen() : joining_->listen();
}

SOTTO_DECL tcp tcp::meeting::join() {
    require_open();
    auto gathering = std::exchange(gathering_, nullptr);
    auto joining = std::exchange(joining_, nullptr);
    auto connections = gathering ? gathering->run() : joining->run();
    joining.reset();  // closes its port before more is opened
    return tcp(options_, std::move(connections), std::move(gathering));
}

SOTTO_DECL void tcp::meeting::require_open() const {
    if (!joining_ && !gathering_) throw std::logic_error("tcp: the meeting is over: it was joined");
}

SOTTO_DECL tcp::~tcp() {
    if (!owner_.is_this()) {
        leave_to_parent();
        return;
    }
    if (unwinding_.begun()) fail(detail::net::unwound_cause);
    control_.gather_no_more();
    if (!withdrawn_) {
        exchange_.abandon();
        links_.close_when_heard(options_.timeout, [&] { return !control_.failed(); });
    }
    control_.stop();
}

SOTTO_DECL request tcp::send(int to, tag label, byte_view out) {
    begin();
    require_here(to);
    transfer& t = exchange_.send(to, label, out);
    const request made = detail::net::message_exchange::request_of(t);
    if (to != rank()) links_.write(to);
    return made;
}

SOTTO_DECL request tcp::receive(int from, tag label, mutable_byte_view in) {
    begin();
    if (!exchange_.holds(from, label)) require_here(from);
    transfer& t = exchange_.receive(from, label, in);
    const request made = detail::net::message_exchange::request_of(t);
    links_.write_to_all();  // that a message which waits may come
    return made;
}

SOTTO_DECL std::optional<completion> tcp::poll(request r) {
    begin();
    transfer& t = exchange_.find(r);
    if (under_way(t)) {
        links_.move_now_and_then();
        let_go();
        if (under_way(t)) {
            require_possible(t);
            return std::nullopt;
        }
    }
    return finish(t);
}

SOTTO_DECL completion tcp::wait(request r) {
    begin();
    transfer& t = exchange_.find(r);
    block([&] { return !under_way(t); }, [&] { return t.peer; }, [&] { return described(t); },
          [&] { require_possible(t); });
    return finish(t);
}

SOTTO_DECL void tcp::await(std::uint64_t seen) {
    begin();
    if (activity() != seen) return;
    const transfer* const waited = exchange_.longest_waiting();
    if (!waited && !tolerates_)
        exchange_.misuse("await, but no transfer is under way that could end it");
    // While ranks may come and go the caller has a time limit of its own.
    const time_point enough =
        tolerates_ ? now() + detail::waiting_time::slice_max : (time_point::max)();
    block([&] { return activity() != seen || now() >= enough; },
          [&] { return waited ? waited->peer : any_rank; },
          [&] { return waited ? described(*waited) : std::string("any change"); },
          [&] {
              if (!links_.all_open())
                  exchange_.for_each_under_way([&](const transfer& t) { require_possible(t); });
          });
}

SOTTO_DECL tcp::ballot& tcp::open_ballot(std::span<const int> members, std::uint32_t label) {
    return control_.with([&](detail::net::membership& m) -> std::reference_wrapper<ballot> {
        return m.open(members, label);
    });
}

SOTTO_DECL bool tcp::agree(ballot& among, bool vote) {
    begin();
    if (!among.has(rank()))
        throw invalid_option("tcp: rank " + std::to_string(rank()) +
                             " votes in a ballot that it is not a member of");
    control_.listen();  // before the vote: a rank that hung may have been given up
    const std::uint64_t poll =
        control_.with([&](detail::net::membership& m) { return m.vote(among, vote); });
    std::optional<bool> verdict;
    bool settled = false;  // there will be none
    std::uint64_t looked_at = control_.news() - 1;
    int absent = any_rank, gone = any_rank;
    const auto look = [&] {
        control_.listen();
        const std::uint64_t news = control_.news();
        if (std::exchange(looked_at, news) == news) return verdict || settled;
        control_.with([&](detail::net::membership& m) {
            using enum detail::net::membership::standing;
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
    if (!verdict && gone >= 0) throw peer_failure(gone, "there is no vote of it", occasion_);
    if (!verdict) raise();
    return *verdict;
}

SOTTO_DECL void tcp::withdraw() noexcept {
    if (!owner_.is_this()) return leave_to_parent();
    withdrawn_ = true;
    control_.gather_no_more();
    exchange_.abandon();
    links_.close();
}

SOTTO_DECL void tcp::fail(std::string_view cause, errc kind) noexcept {
    if (!owner_.is_this()) return leave_to_parent();
    try {
        control_.with([&](detail::net::membership& m) {
            if (!m.first_failure()) m.fail(rank(), std::string(cause), kind);
        });
    } catch (...) {  // no memory for the text: closing says it without
    }
    withdraw();
}

SOTTO_DECL void tcp::blame(int rank, const std::string& cause, errc code) {
    accuse(rank, cause, code);
    if (!tolerates_) raise();
    if (rank == this->rank()) withdraw();
    throw peer_failure(rank, cause, occasion_, code);
}

SOTTO_DECL void tcp::tolerate() {
    control_.with([](detail::net::membership& m) { m.tolerate(); });
    tolerates_ = true;
}

SOTTO_DECL std::optional<rank_change> tcp::next_change() {
    begin();
    let_go();
    if (changes_.empty()) return std::nullopt;
    detail::net::tcp_control::change first = std::move(changes_.front());
    changes_.pop_front();
    const int peer = first.what.rank;
    if (!first.is_here()) {
        let_go_of(peer);
        return rank_change{peer, false, first.what.code == errc{}, std::move(first.what.cause)};
    }
    links_.open(peer, std::move(first.data));
    exchange_.forget(peer);
    connect(peer, first.incarnation);
    links_.read(peer);  // poll(2) says nothing of what came with the greeting
    return rank_change{peer, true};
}

SOTTO_DECL tcp::tcp(const tcp_options& options, detail::net::tcp_connections connections,
                    std::unique_ptr<detail::net::tcp_gathering> gathering)
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
    // What came together with the last of the handshake is there, though poll(2) says nothing.
    links_.read_all();
    control_.start();  // last: what fails before it ends all connections at once
}

SOTTO_DECL detail::net::membership tcp::membership_of(const tcp_options& options,
                                                      const detail::net::tcp_connections& of) {
    detail::net::membership made{
        options.rank,
        options.size,
        0,
        // A rank that comes while others work may meet them for as long as three times `join`.
        {options.heartbeat, options.dead_after,
         (std::max)(options.elastic ? 3 * options.join : options.join, options.dead_after), "tcp",
         options.size, /*settling*/ 10},
        [&](int from, int to) { return of.seed(from, to, detail::net::control_seed); },
        std::chrono::steady_clock::now()};
    if (options.elastic) {
        made.tolerate();
        for (const int absent : of.absent()) made.fail(absent, "it has not come");
    }
    return made;
}

SOTTO_DECL void tcp::connect(int peer, std::uint64_t incarnation) {
    using detail::net::data_seed;
    using detail::net::link_seed;
    exchange_.connect(peer,
                      {.epoch = 0,
                       .seed_out = link_seed(rank(), incarnation_, peer, incarnation, data_seed),
                       .seed_in = link_seed(peer, incarnation, rank(), incarnation_, data_seed),
                       .budget = options_.budget,
                       .part = detail::wire::message_part_bytes});
}

SOTTO_DECL bool tcp::under_way(const transfer& t) noexcept {
    return t.reached == transfer::stage::posted;
}

SOTTO_DECL void tcp::begin() {
    if (control_.failed()) raise();
    if (withdrawn_) exchange_.misuse("called after it withdrew");
}

SOTTO_DECL void tcp::require_here(int peer) const {
    if (tolerates_ && peer >= 0 && peer < size() && peer != rank() && !links_.is_open(peer))
        throw peer_failure(peer, "it went", occasion_);
}

SOTTO_DECL void tcp::let_go() {
    const std::uint64_t news = control_.news();
    if (!tolerates_ || std::exchange(heard_, news) == news) return;
    while (auto change = control_.next_change()) {
        if (!change->is_here()) let_go_of(change->what.rank);
        changes_.push_back(std::move(*change));
    }
}

SOTTO_DECL void tcp::let_go_of(int peer) {
    if (!links_.is_open(peer) && !exchange_.link_to(peer)) return;
    if (links_.is_open(peer)) links_.read(peer);  // what it had sent
    links_.forget(peer);
    exchange_.disconnect(peer);
}

SOTTO_DECL completion tcp::finish(transfer& t) {
    if (t.reached == transfer::stage::lost) {
        const int peer = t.peer;
        exchange_.retire(t);
        throw peer_failure(peer, "it went", occasion_);
    }
    if (t.reached == transfer::stage::too_long) {
        const std::string text = detail::net::too_long(t, rank());
        fail(text, errc::mismatch);
        throw mismatch(text);
    }
    return exchange_.finish(t);
}

SOTTO_DECL void tcp::accuse(int peer, const std::string& cause, errc code) {
    control_.with([&](detail::net::membership& m) { m.fail(peer, cause, code); });
}

SOTTO_DECL void tcp::require_possible(const transfer& t) {
    const int peer = t.peer;
    if (peer == rank() || (peer != any_rank && links_.is_open(peer))) return;
    if (peer == any_rank && (links_.any_open() || size() == 1)) return;
    const int gone = peer == any_rank ? (rank() == 0 ? 1 : 0) : peer;
    using detail::net::membership;
    control_.listen();
    const auto is = control_.with([&](membership& m) { return m.of(gone); });
    if (is == membership::standing::left) {
        if (!tolerates_) accuse(gone, left_cause);
    }
    // Else that it failed is on its way; a rank whose data connection alone broke has failed.
    else if (const auto why = links_.why_lost(gone); why && is == membership::standing::alive)
        accuse(gone, *why);
    if (control_.failed()) raise();
}

SOTTO_DECL void tcp::give_up(int peer, const std::string& what) {
    const std::string how = waited_in_vain(what);
    if (peer < 0) throw error(errc::timed_out, "tcp: " + how);
    accuse(peer, "it was late: " + how, errc::timed_out);
}

SOTTO_DECL void tcp::be_late(int peer, const std::string& what) {
    control_.with([&](detail::net::membership& m) {
        m.fail(m.end_of_chain(peer), "it was late: " + waited_in_vain(what), errc::timed_out);
    });
}

SOTTO_DECL std::string tcp::waited_in_vain(const std::string& what) const {
    return detail::net::waited_in_vain("tcp", rank(), options_.timeout, what);
}

SOTTO_DECL void tcp::raise() {
    withdraw();  // first: the caller's memory goes while the exception passes
    const auto why = control_.with([](detail::net::membership& m) { return m.first_failure(); });
    if (!why) throw peer_failure(rank(), "its memory is used up", occasion_);
    throw peer_failure(why->rank, why->cause, occasion_, why->code);
}

}  // namespace sotto
