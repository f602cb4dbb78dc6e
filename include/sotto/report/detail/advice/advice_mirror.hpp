#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Rank 0 of many without a network: what it sends is, in the same order, what it receives, from
/// whomever. So one rank's work in an exchange can be done, and its bytes counted, where all ranks
/// send much the same: in operations that send to one rank alone, or to each one message before the
/// next.
///   errors  std::logic_error: something that is never sent is waited for; a message that is longer
///           than the memory for it
class mirror {
public:
    explicit mirror(int ranks) : ranks_(ranks) {}

    int rank() const noexcept { return 0; }
    int size() const noexcept { return ranks_; }

    request send(int, tag, byte_view out) {
        counts_.bytes_sent += static_cast<std::int64_t>(out.size());
        ++counts_.messages_sent;
        return note({.is_send = true, .out = out});
    }
    request receive(int from, tag, mutable_byte_view in) { return note({.peer = from, .in = in}); }

    std::optional<completion> poll(request r) {
        const transfer& t = transfers_[r.slot];
        if (!t.is_complete) return std::nullopt;
        free_.push_back(r.slot);
        return completion{t.peer, t.bytes};
    }
    completion wait(request r) {
        const auto ended = poll(r);
        if (!ended) throw std::logic_error("mirror: waited for what is never sent");
        return *ended;
    }
    std::uint64_t activity() const noexcept { return moved_; }
    void await(std::uint64_t seen) const {
        if (seen == moved_) throw std::logic_error("mirror: waited for what is never sent");
    }

    bool agree(bool vote) const noexcept { return vote; }
    void withdraw() noexcept { waiting_.clear(); }
    void fail(std::string_view) noexcept { withdraw(); }
    void at(peer_failure::occasion) const noexcept {}
    void reserve(std::int64_t) const noexcept {}
    time_point now() const { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return counts_; }

private:
    struct transfer {
        bool is_send = false;
        int peer = 0;
        byte_view out{};
        mutable_byte_view in{};
        std::int64_t bytes = 0;
        bool is_complete = false;
    };

    request note(const transfer& made) {
        if (free_.empty()) {
            free_.push_back(static_cast<std::uint32_t>(transfers_.size()));
            transfers_.emplace_back();
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        transfers_[slot] = made;
        if (waiting_.empty() || transfers_[waiting_.front()].is_send == made.is_send) {
            waiting_.push_back(slot);
        } else {
            deliver(transfers_[slot], transfers_[waiting_.front()]);
            waiting_.pop_front();
        }
        return {slot, 0};
    }

    void deliver(transfer& a, transfer& b) {
        const byte_view out = a.is_send ? a.out : b.out;
        const mutable_byte_view in = a.is_send ? b.in : a.in;
        if (out.size() > in.size())
            throw std::logic_error("mirror: a message is longer than the memory for it");
        std::copy(out.begin(), out.end(), in.begin());
        a.bytes = b.bytes = static_cast<std::int64_t>(out.size());
        a.is_complete = b.is_complete = true;
        ++moved_;
    }

    int ranks_;
    std::vector<transfer> transfers_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> waiting_;  // sends or receives without a counterpart, oldest first
    traffic counts_;
    std::uint64_t moved_ = 0;
};

}  // namespace sotto::detail
