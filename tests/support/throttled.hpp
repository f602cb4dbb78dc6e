#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
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
class slow_network {
public:
    slow_network(int ranks, double bytes_per_second, double latency_seconds)
        : bytes_per_second_(bytes_per_second),
          latency_(in_nanoseconds(latency_seconds)),
          free_(static_cast<std::size_t>(ranks)) {
        for (auto& clocks : clocks_) clocks.resize(free_.size());
    }

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

    /// Before a vote every rank says when it came, after it the last one's time is everybody's.
    void came(std::uint64_t vote, int rank, time_point now) {
        const std::lock_guard lock(mutex_);
        clocks_[vote % 2][static_cast<std::size_t>(rank)] = now;
    }
    time_point last_to_come(std::uint64_t vote) {
        const std::lock_guard lock(mutex_);
        return *std::max_element(clocks_[vote % 2].begin(), clocks_[vote % 2].end());
    }

    static duration in_nanoseconds(double seconds) {
        return duration(static_cast<duration::rep>(1e9 * seconds));
    }

private:
    using place = std::tuple<int, int, std::uint32_t, std::uint32_t, std::uint64_t>;
    static place key(int from, int to, tag label) {
        return {from, to, label.channel, label.item, label.round};
    }

    double bytes_per_second_;
    duration latency_;
    std::mutex mutex_;
    std::vector<time_point> free_;  // when a rank's link is
    std::map<place, std::deque<time_point>> arrivals_;
    std::vector<time_point> clocks_[2];
};

/// A transport with a slow network under it that nobody has to wait for: every rank has a clock of
/// its own, which moves when work is charged (a flop a nanosecond) and when all that is left to do
/// is to wait for messages that are still on their way.
template <transport Inner>
class throttled {
public:
    throttled(Inner& inner, slow_network& network) : inner_(&inner), network_(&network) {}

    int rank() const noexcept { return inner_->rank(); }
    int size() const noexcept { return inner_->size(); }

    request send(int to, tag label, byte_view out) {
        network_->depart(rank(), to, label, out.size(), now_);
        return note({.inner = inner_->send(to, label, out)});
    }
    request receive(int from, tag label, mutable_byte_view in) {
        return note({.inner = inner_->receive(from, label, in), .receives = true, .label = label});
    }

    std::optional<completion> poll(request r) {
        transfer& t = transfers_[r.slot];
        if (!t.ended) {
            t.ended = inner_->poll(t.inner);
            if (!t.ended) return std::nullopt;
            if (t.receives) t.arrival = network_->arrival(t.ended->source, rank(), t.label);
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
        if (activity() != seen) return;
        time_point next = time_point::max();
        for (const transfer& t : transfers_)
            if (t.ended) next = std::min(next, t.arrival);
        if (next == time_point::max()) return inner_->await(seen - moved_);
        now_ = std::max(now_, next);
        ++moved_;
    }

    bool agree(bool vote) {
        network_->came(++votes_, rank(), now_);
        const bool verdict = inner_->agree(vote);
        now_ = network_->last_to_come(votes_);
        return verdict;
    }

    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause) noexcept { inner_->fail(cause); }
    void at(occasion where) { inner_->at(where); }
    void reserve(std::int64_t count) { inner_->reserve(count); }
    time_point now() const { return now_; }
    void charge(work amount) { now_ += slow_network::in_nanoseconds(1e-9 * amount.flops); }
    traffic counters() const { return inner_->counters(); }

private:
    struct transfer {
        request inner{};
        bool receives = false;
        tag label{};
        std::optional<completion> ended{};  // by the inner transport: here only from `arrival` on
        time_point arrival{};
    };

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
    std::uint64_t votes_ = 0;
    std::vector<transfer> transfers_;
    std::vector<std::uint32_t> free_;
};

}  // namespace sotto::testing
