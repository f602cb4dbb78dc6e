#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Rank 0 of many without a network: it receives its own messages in the order in which it sent
/// them, from any rank. So it does one rank's work in an exchange, and counts its bytes. This is
/// valid if all ranks send nearly the same: in operations that send to one rank only, or one
/// message to each rank before the next.
///   errors  std::logic_error: a wait for a message that is never sent; a message that is longer
///           than the memory for it
class mirror {
public:
    explicit mirror(int ranks) : ranks_(ranks) {}

    int rank() const noexcept { return 0; }
    int size() const noexcept { return ranks_; }

    request send(int, tag, byte_view out);
    request receive(int from, tag, mutable_byte_view in) { return note({.peer = from, .in = in}); }

    std::optional<completion> poll(request r);
    completion wait(request r);
    std::uint64_t activity() const noexcept { return moved_; }
    void await(std::uint64_t seen) const;

    bool agree(bool vote) const noexcept { return vote; }
    void withdraw() noexcept { waiting_.clear(); }
    void fail(std::string_view) noexcept { withdraw(); }
    void at(peer_failure::job_phase) const noexcept {}
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

    request note(const transfer& made);

    void deliver(transfer& a, transfer& b);

    int ranks_;
    std::vector<transfer> transfers_;
    std::vector<std::uint32_t> free_;
    std::deque<std::uint32_t> waiting_;  // unmatched sends or receives, oldest first
    traffic counts_;
    std::uint64_t moved_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/advice/advice_mirror.ipp"
#endif
