#pragma once

#include "sotto/transports/detail/simulated/simulated_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::simulation {

SOTTO_DECL network::network(virtual_time& time, int ranks, const simulated_options& options)
    : time_(&time), options_(options), random_(random_stream(options.seed).split("network")) {
    require_possible(options_, ranks);
    const random_stream speeds = random_stream(options.seed).split("speeds");
    for (int rank = 0; rank < ranks; ++rank) {
        host& made = hosts_.emplace_back();
        made.line = options_.line_of(rank);
        made.speed = speeds.split(static_cast<std::uint64_t>(rank));
    }
    for (std::size_t i = 0; i < options_.faults.size(); ++i)
        time.tell(time.now() + options_.faults[i].at, *this, number(i, step::fault));
}

SOTTO_DECL void network::connect(int rank, duration period, std::function<bool()> serve) {
    host& own = of(rank);
    own.serve = std::move(serve);
    own.period = period;
    if (++own.life > 1) succeed(rank);
    note(simulated_event::kind::began, rank, rank, static_cast<std::int64_t>(own.life));
    if (period > duration::zero()) serve_at(rank, time_->now() + period);
}

SOTTO_DECL void network::end(int rank) {
    if (of(rank).serve) ++left_connected_;
    disconnect(rank);
    empty_inbox(of(rank));
    note(simulated_event::kind::ended, rank, rank, 0);
}

SOTTO_DECL time_point network::send(int from, int to, packet_kind kind, byte_view content) {
    const place at = take();
    packet& p = packets_[at];
    p.from = from;
    p.to = to;
    p.kind = kind;
    p.size = content.size();
    p.has_content = has_content(content);
    if (p.has_content) p.content.assign(content.begin(), content.end());
    harm(p);
    note(simulated_event::kind::sent, from, to, static_cast<std::int64_t>(p.size));
    host& sender = of(from);
    const time_point begin = (std::max)(time_->now(), sender.out_free);
    sender.out_free = begin + seconds(static_cast<double>(p.size) / sender.line.out);
    p.out = sender.out_free;
    p.from_life = sender.life;
    p.to_life = known_life(from, to);
    time_point head = begin + way(from, to);
    if (trouble* const t = trouble_of(from, to)) {
        head += t->extra_at(time_->now());
        t->last_head = head = (std::max)(head, t->last_head);  // no packet overtakes
    }
    if (kind == packet_kind::messages)
        time_->tell(p.out, *this, number(index_of(from), step::left));
    time_->tell(head, *this, number(at, step::head));
    return p.out;
}

SOTTO_DECL std::optional<network::place> network::next(int rank, packet_kind kind) noexcept {
    auto& there = of(rank).inbox[static_cast<std::size_t>(kind)];
    if (there.empty()) return std::nullopt;
    const place at = there.front();
    there.pop();
    return at;
}

SOTTO_DECL void network::receive(place at, mutable_byte_view in) noexcept {
    const packet& p = packets_[at];
    if (p.has_content && has_content(in) && p.size > 0)
        std::memcpy(in.data(), p.content.data(), p.size);
    release(at);
}

SOTTO_DECL void network::release(place at) noexcept {
    if (--packets_[at].uses == 0) free_.push_back(at);
}

SOTTO_DECL std::optional<net::packet_loss> network::next_loss(int rank) {
    auto& lost = of(rank).lost;
    if (lost.empty()) return std::nullopt;
    net::packet_loss first = std::move(lost.front());
    lost.pop_front();
    return first;
}

SOTTO_DECL std::optional<int> network::next_arrival(int rank) {
    host& own = of(rank);
    if (const auto peer = std::exchange(own.hears_of, std::nullopt))
        if (!is_to_hear_of(own, *peer)) let_in(own, *peer);
    if (own.came.empty()) return std::nullopt;
    own.hears_of = own.came.front();
    own.came.pop_front();
    return own.hears_of;
}

SOTTO_DECL std::optional<time_point> network::restart_of(int rank) const {
    std::optional<time_point> first;
    for (const network_fault& f : options_.faults) {
        const time_point at = time_point{} + f.at;
        if (f.what == network_fault::kind::restart && f.rank == rank && at >= time_->now() &&
            (!first || at < *first))
            first = at;
    }
    return first;
}

SOTTO_DECL void network::compute(int rank, work amount) {
    const double slower = options_.slowness(rank, of(rank).speed);
    const double needed = options_.machine.seconds_for(amount) * slower;
    if (!is_finite(slower) || !is_finite(needed) || slower < 0.0 || needed < 0.0 ||
        needed > longest_work)
        throw invalid_option("simulated: rank " + std::to_string(rank) + " is to compute for " +
                             std::to_string(needed) + " s, at a slowness of " +
                             std::to_string(slower) + "; 0 to 10^9 s are possible");
    const duration takes = seconds(needed);
    note(simulated_event::kind::worked, rank, rank, takes.count());
    time_->work(rank, time_->now() + takes);
}

SOTTO_DECL std::int64_t network::packets_under_way() const noexcept {
    return static_cast<std::int64_t>(packets_.size() - free_.size());
}

SOTTO_DECL std::int64_t network::packets_room() const noexcept {
    return static_cast<std::int64_t>(packets_.size());
}

SOTTO_DECL void network::happen(std::uint64_t what) {
    const auto at = static_cast<place>(what >> 3);
    switch (static_cast<step>(what & 7)) {
        case step::left: time_->wake(static_cast<int>(at)); break;  // the rank may wait for that
        case step::head: come_in(at); break;
        case step::arrived: arrive(at); break;
        case step::serve: serve_again(static_cast<int>(at)); break;
        case step::fault: begin_fault(options_.faults[at]); break;
        case step::heal: heal(troubled_[at]); break;
        case step::lost: lose(breakings_[at]); break;
        case step::came: come(comings_[at]); break;
    }
}

SOTTO_DECL std::uint64_t network::known_life(int rank, int peer) noexcept {
    const auto found = of(rank).known.find(peer);
    return found == of(rank).known.end() ? present_life(peer) : found->second;
}

SOTTO_DECL std::uint64_t network::present_life(int rank) noexcept {
    return std::max<std::uint64_t>(1, of(rank).life);
}

SOTTO_DECL std::uint64_t network::number(std::size_t index, step what) noexcept {
    return static_cast<std::uint64_t>(index) << 3 | static_cast<std::uint64_t>(what);
}

SOTTO_DECL duration network::seconds(double s) noexcept {
    return duration(static_cast<std::int64_t>(std::llround(s * 1e9)));
}

SOTTO_DECL void network::note(simulated_event::kind what, int rank, int peer, std::int64_t size) {
    trace_.add({what, time_->now(), rank, peer, size});
}

SOTTO_DECL network::place network::take() {
    if (free_.empty()) {
        free_.push_back(static_cast<place>(packets_.size()));
        packets_.emplace_back();
    }
    const place at = free_.back();
    free_.pop_back();
    packet& p = packets_[at];
    p.twice = p.is_last = false;
    p.uses = 1;
    return at;
}

SOTTO_DECL trouble* network::trouble_of(int from, int to) noexcept {
    if (troubles_.empty()) return nullptr;
    const auto found = troubles_.find({from, to});
    return found == troubles_.end() ? nullptr : &found->second;
}

SOTTO_DECL void network::come_in(place at) {
    packet& p = packets_[at];
    if (trouble* const t = trouble_of(p.from, p.to))
        if (time_->now() < t->held_until || !t->held.empty()) return t->held.push_back(at);
    pass(at);
}

SOTTO_DECL void network::pass(place at) {
    packet& p = packets_[at];
    const trouble* const t = trouble_of(p.from, p.to);
    host& receiver = of(p.to);
    if ((t && t->is_cut) || p.to_life != present_life(p.to) || p.out == never) {
        p.uses = 1;  // even if it was to arrive twice
        return drop(at);
    }
    const time_point begin = (std::max)(time_->now(), receiver.in_free);
    receiver.in_free = (std::max)(begin + seconds(static_cast<double>(p.size) / receiver.line.in),
                                  p.out + way(p.from, p.to));
    for (int times = std::exchange(p.twice, false) ? 2 : 1; times > 0; --times)
        time_->tell(receiver.in_free, *this, number(at, step::arrived));
}

SOTTO_DECL void network::drop(place at) {
    packet& p = packets_[at];
    note(simulated_event::kind::dropped, p.from, p.to, static_cast<std::int64_t>(p.size));
    release(at);
}

SOTTO_DECL void network::arrive(place at) {
    packet& p = packets_[at];
    host& receiver = of(p.to);
    if (p.out == never || p.to_life != present_life(p.to) || has_ended(p.to) ||
        p.from_life != known_life(p.to, p.from))
        return drop(at);
    note(simulated_event::kind::arrived, p.from, p.to, static_cast<std::int64_t>(p.size));
    if (is_to_hear_of(receiver, p.from))
        receiver.ahead.push_back(at);
    else
        receiver.inbox[static_cast<std::size_t>(p.kind)].push(at);
    const bool breaks = std::exchange(p.is_last, false);
    const int from = p.from, to = p.to;
    tell_system(to, p.kind == packet_kind::membership);
    if (breaks) cut(from, to);
}

SOTTO_DECL bool network::is_to_hear_of(const host& rank, int peer) noexcept {
    return std::find(rank.came.begin(), rank.came.end(), peer) != rank.came.end();
}

SOTTO_DECL void network::let_in(host& receiver, int peer) {
    std::erase_if(receiver.ahead, [&](place at) {
        const packet& p = packets_[at];
        if (p.from != peer) return false;
        if (p.from_life == known_life(p.to, peer))
            receiver.inbox[static_cast<std::size_t>(p.kind)].push(at);
        else
            drop(at);  // another process has started since
        return true;
    });
}

SOTTO_DECL void network::tell_system(int rank, bool is_membership) {
    const bool is_frozen = time_->now() < time_->frozen_until(rank);
    if (is_membership && of(rank).serve && !is_frozen) (void)of(rank).serve();
    time_->wake(rank);
}

SOTTO_DECL void network::serve_again(int rank) {
    host& own = of(rank);
    if (!own.serve || own.served_at != time_->now()) return;  // scheduled for an earlier process
    const time_point thaws = time_->frozen_until(rank);
    const bool is_frozen = time_->now() < thaws;
    if (!is_frozen && own.serve()) time_->wake(rank);  // it dropped another rank
    if (own.serve) serve_at(rank, is_frozen ? thaws : time_->now() + own.period);
}

SOTTO_DECL void network::serve_at(int rank, time_point when) {
    of(rank).served_at = when;
    time_->tell(when, *this, number(index_of(rank), step::serve));
}

SOTTO_DECL void network::begin_fault(const network_fault& f) {
    note(simulated_event::kind::harmed, f.rank, f.peer, static_cast<std::int64_t>(f.what));
    const time_point until = time_->now() + f.lasts;
    switch (f.what) {
        case network_fault::kind::delay:
            make_trouble(f.rank, f.peer).delays.push_back({until, f.extra});
            break;
        case network_fault::kind::cut: cut(f.rank, f.peer); break;
        case network_fault::kind::partition: {
            trouble& t = make_trouble(f.rank, f.peer);
            t.held_until = (std::max)(t.held_until, until);
            troubled_.push_back({f.rank, f.peer});
            time_->tell(t.held_until, *this, number(troubled_.size() - 1, step::heal));
            break;
        }
        case network_fault::kind::crash: die(f.rank, true); break;
        case network_fault::kind::power_loss: die(f.rank, false); break;
        case network_fault::kind::pause:
            if (!has_ended(f.rank)) time_->freeze(f.rank, until);
            break;
        case network_fault::kind::restart: break;  // `simulate` does it
        case network_fault::kind::flip:
        case network_fault::kind::truncate:
        case network_fault::kind::duplicate: make_trouble(f.rank, f.peer).harms.push_back(f.what);
    }
}

SOTTO_DECL void network::cut(int one, int other) {
    make_trouble(one, other).is_cut = make_trouble(other, one).is_cut = true;
    tell_lost(one, other, "the connection broke");
    tell_lost(other, one, "the connection broke");
}

SOTTO_DECL void network::heal(way_between which) {
    trouble& t = make_trouble(which.first, which.second);
    if (time_->now() < t.held_until) return;  // another partition has begun
    for (; !t.held.empty(); t.held.pop_front()) pass(t.held.front());
}

SOTTO_DECL void network::harm(packet& p) {
    trouble* const t = trouble_of(p.from, p.to);
    if (!t || t->harms.empty() || p.size == 0 || !p.has_content) return;
    const network_fault::kind what = t->harms.front();
    t->harms.pop_front();
    if (what == network_fault::kind::flip) {
        const std::uint64_t bit = random_.below(8 * p.size);
        p.content[bit / 8] ^= std::byte{1} << (bit % 8);
    } else if (what == network_fault::kind::truncate && p.size > 1) {
        p.size = 1 + random_.below(p.size - 1);
        p.is_last = true;
    } else if (what == network_fault::kind::duplicate) {
        p.twice = true;
        ++p.uses;
    }
}

SOTTO_DECL void network::die(int rank, bool others_are_told) {
    host& own = of(rank);
    if (has_ended(rank)) return;
    own.life = present_life(rank);  // a process that has not begun never will
    own.serve = nullptr;
    // Until they learn of a new process, others send to this one.
    for (int other = 0; other < size(); ++other)
        if (other != rank) of(other).known[rank] = own.life;
    for (packet& p : packets_)
        if (p.uses > 0 && p.from == rank && time_->now() < p.out) p.out = never;
    own.out_free = time_->now();
    if (others_are_told)
        for (int other = 0; other < size(); ++other)
            if (other != rank) tell_lost(other, rank, "its process ended");
    time_->kill(rank);
}

SOTTO_DECL void network::tell_lost(int rank, int peer, const char* how) {
    breakings_.push_back({rank, peer, present_life(rank), how});
    time_->tell(time_->now() + way(rank, peer), *this, number(breakings_.size() - 1, step::lost));
}

SOTTO_DECL void network::succeed(int rank) {
    host& own = of(rank);
    own.known.clear();
    own.lost.clear();
    own.came.clear();
    own.hears_of.reset();
    empty_inbox(own);
    for (int other = 0; other < size(); ++other) {
        if (other == rank) continue;
        for (trouble* const t : {trouble_of(rank, other), trouble_of(other, rank)})
            if (t) t->is_cut = false;
        // A rank that began after the last process ended takes it for the last one, too.
        of(other).known.try_emplace(rank, own.life - 1);
        comings_.push_back({other, rank, present_life(other), own.life});
        time_->tell(time_->now() + way(rank, other), *this,
                    number(comings_.size() - 1, step::came));
    }
}

SOTTO_DECL void network::empty_inbox(host& of_rank) noexcept {
    for (auto& inbox : of_rank.inbox)
        for (; !inbox.empty(); inbox.pop()) release(inbox.front());
    for (const place at : std::exchange(of_rank.ahead, {})) release(at);
}

SOTTO_DECL void network::come(const coming& c) {
    host& own = of(c.rank);
    if (c.life_of_rank != present_life(c.rank)) return;
    own.known.erase(c.peer);
    if (has_ended(c.rank) || c.life != of(c.peer).life) return;
    own.came.push_back(c.peer);
    tell_system(c.rank, true);
}

SOTTO_DECL void network::lose(const breaking& b) {
    host& own = of(b.rank);
    if (has_ended(b.rank) || b.life_of_rank != present_life(b.rank)) return;
    note(simulated_event::kind::lost, b.rank, b.peer, 0);
    own.lost.push_back({b.peer, b.how});
    tell_system(b.rank, true);
}

}  // namespace sotto::detail::simulation
