#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::testing {

/// What the ranks of a throttled transport share: links of one bandwidth and latency, in virtual
/// time. A rank sends one message after another; each arrives a latency after its last byte left.
///
/// Ranks take turns: one runs, until it has nothing to do before something arrives; then the one
/// goes on that is first in virtual time. So nothing can arrive at a time that is already past, and
/// the same job takes the same time whatever else the machine does.
class slow_network {
public:
    slow_network(int ranks, double bytes_per_second, double latency_seconds)
        : bytes_per_second_(bytes_per_second),
          latency_(in_nanoseconds(latency_seconds)),
          free_(static_cast<std::size_t>(ranks)),
          ranks_(static_cast<std::size_t>(ranks)) {}

    void depart(int from, int to, tag label, std::size_t size, time_point now) {
        const std::lock_guard lock(mutex_);
        time_point& free = free_[static_cast<std::size_t>(from)];
        free = std::max(free, now) + in_nanoseconds(static_cast<double>(size) / bytes_per_second_);
        arrivals_[key(from, to, label)].push_back(free + latency_);
    }

    time_point arrival(int from, int to, tag label) {
        const std::lock_guard lock(mutex_);
        const auto found = arrivals_.find(key(from, to, label));
        const time_point first = found->second.front();
        found->second.pop_front();
        if (found->second.empty()) arrivals_.erase(found);
        return first;
    }

    /// Returns when all are there and it is this rank's turn.
    void enter(int rank) { (void)rest(rank, {}, {}); }
    void leave(int rank) noexcept {
        const std::lock_guard lock(mutex_);
        of(rank).doing = state::gone;
        next_turn();
    }

    /// Another rank did something to this one's transfers, which it may want to look at.
    void poke(int rank) {
        const std::lock_guard lock(mutex_);
        of(rank).poked = true;
    }

    /// Gives the turn away up to a time, or until this rank is poked: then true.
    bool rest(int rank, time_point now, time_point until) {
        std::unique_lock lock(mutex_);
        of(rank).doing = state::resting;
        of(rank).now = now;
        of(rank).until = until;
        next_turn();
        wait_for_turn(lock, rank);
        return std::exchange(of(rank).poked, false);
    }

    struct counted {
        bool verdict = false;
        time_point when{};
    };

    /// A vote costs a message from the last one to come, to a rank that counts, and its answer.
    counted vote(int rank, bool vote, time_point now) {
        std::unique_lock lock(mutex_);
        of(rank).doing = state::voting;
        of(rank).now = now;
        of(rank).vote = vote;
        next_turn();
        wait_for_turn(lock, rank);
        return verdict_;
    }

    static duration in_nanoseconds(double seconds) {
        return duration(static_cast<duration::rep>(1e9 * seconds));
    }

private:
    enum class state { absent, running, resting, voting, gone };
    struct place {
        state doing = state::absent;
        bool poked = false;
        bool vote = false;
        time_point now{};
        time_point until{};

        time_point next() const { return poked ? now : until; }
    };

    using route = std::tuple<int, int, std::uint32_t, std::uint32_t, std::uint64_t>;
    static route key(int from, int to, tag label) {
        return {from, to, label.channel, label.item, label.round};
    }

    place& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    bool all_are(state one, state other) const {
        return std::all_of(ranks_.begin(), ranks_.end(),
                           [&](const place& p) { return p.doing == one || p.doing == other; });
    }

    /// The rank that is first in virtual time, of equals the lower one.
    void next_turn() {
        turn_ = nobody;
        changed_.notify_all();
        for (const place& p : ranks_)
            if (p.doing == state::absent || p.doing == state::running) return;
        if (all_are(state::voting, state::gone)) count_votes();
        time_point first = time_point::max();
        for (std::size_t r = 0; r < ranks_.size(); ++r)
            if (ranks_[r].doing == state::resting && ranks_[r].next() < first) {
                first = ranks_[r].next();
                turn_ = static_cast<int>(r);
            }
    }

    void count_votes() {
        verdict_ = {.verdict = true};
        for (const place& p : ranks_)
            if (p.doing == state::voting) {
                verdict_.verdict = verdict_.verdict && p.vote;
                verdict_.when = std::max(verdict_.when, p.now + 2 * latency_);
            }
        for (place& p : ranks_)
            if (p.doing == state::voting) {
                p.doing = state::resting;
                p.poked = false;
                p.now = p.until = verdict_.when;
            }
    }

    void wait_for_turn(std::unique_lock<std::mutex>& lock, int rank) {
        // Nothing is timed by this: it ends a test in which ranks wait for each other.
        if (!changed_.wait_for(lock, std::chrono::minutes(2), [&] { return turn_ == rank; }))
            throw std::logic_error("slow_network: no rank can go on");
        of(rank).doing = state::running;
    }

    static constexpr int nobody = -1;

    double bytes_per_second_;
    duration latency_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<time_point> free_;  // when a rank's link is
    std::vector<place> ranks_;
    std::map<route, std::deque<time_point>> arrivals_;
    counted verdict_;
    int turn_ = nobody;
};

/// A transport with a slow network under it that nobody has to wait for: every rank has a clock of
/// its own, which moves when a test spends time and when all that is left to do is to wait for
/// messages that are still on their way. Work takes none.
template <transport Inner>
class throttled {
public:
    throttled(Inner& inner, slow_network& network) : inner_(&inner), network_(&network) {
        network_->enter(rank());
    }
    ~throttled() { network_->leave(rank()); }

    throttled(const throttled&) = delete;
    throttled& operator=(const throttled&) = delete;

    int rank() const noexcept { return inner_->rank(); }
    int size() const noexcept { return inner_->size(); }

    request send(int to, tag label, byte_view out) {
        network_->depart(rank(), to, label, out.size(), now_);
        const request made = note({.inner = inner_->send(to, label, out), .peer = to});
        network_->poke(to);
        return made;
    }
    request receive(int from, tag label, mutable_byte_view in) {
        const request made = note({.inner = inner_->receive(from, label, in),
                                   .peer = from,
                                   .receives = true,
                                   .label = label});
        poke(from);
        return made;
    }

    std::optional<completion> poll(request r) {
        transfer& t = transfers_[r.slot];
        if (!t.ended) {
            t.ended = inner_->poll(t.inner);
            if (!t.ended) return std::nullopt;
            if (t.receives) t.arrival = network_->arrival(t.ended->source, rank(), t.label);
            poke(t.peer);
        }
        if (t.arrival > now_) return std::nullopt;
        const completion ended = *t.ended;
        t = {};
        free_.push_back(r.slot);
        return ended;
    }
    completion wait(request r) {
        while (true) {
            const std::uint64_t seen = activity();
            if (const auto ended = poll(r)) return *ended;
            await(seen);
        }
    }

    std::uint64_t activity() { return inner_->activity() + moved_; }
    void await(std::uint64_t seen) {
        while (activity() == seen) {
            time_point next = time_point::max();
            for (const transfer& t : transfers_)
                if (t.ended) next = std::min(next, t.arrival);
            if (network_->rest(rank(), now_, next)) continue;
            now_ = std::max(now_, next);
            ++moved_;
        }
    }

    bool agree(bool vote) {
        const auto [verdict, when] = network_->vote(rank(), vote, now_);
        now_ = when;
        return verdict;
    }

    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause) noexcept { inner_->fail(cause); }
    void at(peer_failure::job_phase where) { inner_->at(where); }
    void reserve(std::int64_t count) { inner_->reserve(count); }
    time_point now() const { return now_; }
    void charge(work) const noexcept {}
    void spend(duration time) { now_ += time; }
    traffic counters() const { return inner_->counters(); }

private:
    struct transfer {
        request inner{};
        int peer = 0;
        bool receives = false;
        tag label{};
        std::optional<completion> ended{};  // by the inner transport: here only from `arrival` on
        time_point arrival{};
    };

    /// Whoever is at the other end may be able to go on.
    void poke(int peer) {
        if (peer != any_rank) return network_->poke(peer);
        for (int r = 0; r < size(); ++r) network_->poke(r);
    }

    request note(transfer made) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
            transfers_.emplace_back();
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        transfers_[slot] = std::move(made);
        return {slot, 0};
    }

    Inner* inner_;
    slow_network* network_;
    time_point now_{};
    std::uint64_t moved_ = 0;
    std::vector<transfer> transfers_;
    std::vector<std::uint32_t> free_;
};

}  // namespace sotto::testing
