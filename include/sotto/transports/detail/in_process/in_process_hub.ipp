#pragma once

#include "sotto/transports/detail/in_process/in_process_hub.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/describe.hpp"

namespace sotto::detail::local {

SOTTO_DECL std::size_t ballot::place(int rank) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(members.begin(), members.end(), rank) -
                                    members.begin());
}

SOTTO_DECL bool ballot::has(int rank) const noexcept {
    return std::binary_search(members.begin(), members.end(), rank);
}

}  // namespace sotto::detail::local

namespace sotto::detail {

SOTTO_DECL in_process_hub::in_process_hub(int size, in_process_options options)
    : size_(size), options_(std::move(options)) {
    if (size < 1)
        throw invalid_option("in_process: " + std::to_string(size) +
                             " workers; there must be at least 1");
    if (options_.timeout <= duration::zero())
        throw invalid_option("in_process: the timeout is " +
                             std::to_string(options_.timeout.count()) + " ns; it must be above 0");
    if (options_.transfers < 0)
        throw invalid_option("in_process: room for " + std::to_string(options_.transfers) +
                             " transfers; it must be at least 0");
    *boxes_ = std::make_unique<mailbox[]>(static_cast<std::size_t>(size));
    std::vector<int> everyone;
    for (int rank = 0; rank < size; ++rank) everyone.push_back(rank);
    open_ballot(everyone, 0);
}

SOTTO_DECL void in_process_hub::post(transfer& t) {
    mailbox& meeting = box(t.receiver());
    transfer* other = nullptr;
    {
        const std::lock_guard lock(meeting.mutex);
        other = meeting.match(t);
    }
    if (!other) return;
    transfer& send = t.sends ? t : *other;
    transfer& receive = t.sends ? *other : t;
    // No thread can end either transfer now: `cancel` waits until both are complete.
    const bool fits = send.size <= receive.size;
    if (fits && send.size > 0)
        std::memcpy(receive.target, send.source, static_cast<std::size_t>(send.size));
    const completion ended{send.owner, send.size};
    const std::int64_t room = receive.size;
    const auto stage = fits ? transfer::stage::complete : transfer::stage::too_long;
    complete(receive, stage, ended, send.size);
    complete(send, stage, ended, room);
}

SOTTO_DECL void in_process_hub::cancel(transfer& t) noexcept {
    {
        mailbox& meeting = box(t.receiver());
        const std::lock_guard lock(meeting.mutex);
        if (meeting.remove(t)) return;
    }
    mailbox& own = box(t.owner);
    std::unique_lock lock(own.mutex);
    own.changed.wait(lock, [&] { return t.reached.load() != transfer::stage::posted; });
}

SOTTO_DECL void in_process_hub::fail(int rank, std::string cause, errc code) {
    {
        const std::lock_guard lock(votes_mutex_);
        if (failed()) return;
        record({rank, std::move(cause), code});
    }
    wake_all();
}

SOTTO_DECL void in_process_hub::leave(int rank) {
    {
        const std::lock_guard lock(votes_mutex_);
        box(rank).left.store(true);
        leavers_.fetch_add(1);
        for (ballot& b : *ballots_) b.changed.notify_all();
    }
    wake_all();
}

SOTTO_DECL std::optional<int> in_process_hub::left_for_ever(const transfer& t) noexcept {
    if (leavers_.load() == 0) return std::nullopt;
    if (t.peer != any_rank) return box(t.peer).left.load() ? std::optional(t.peer) : std::nullopt;
    std::optional<int> leaver;
    for (int rank = 0; rank < size_; ++rank) {
        if (rank == t.owner) continue;
        if (!box(rank).left.load()) return std::nullopt;
        if (!leaver) leaver = rank;
    }
    return leaver;
}

SOTTO_DECL void in_process_hub::fail_as_late(int waiter, int rank, const std::string& what) {
    const int late = end_of_chain(waiter, rank);
    fail(late, late_cause(waiter, what), errc::timed_out);
}

SOTTO_DECL in_process_hub::ballot& in_process_hub::open_ballot(std::span<const int> members,
                                                               std::uint32_t label) {
    const std::lock_guard lock(votes_mutex_);
    for (ballot& b : *ballots_)
        if (b.label == label &&
            std::equal(members.begin(), members.end(), b.members.begin(), b.members.end()))
            return b;
    ballot& b = ballots_->emplace_back();
    b.members.assign(members.begin(), members.end());
    b.label = label;
    b.cast.assign(members.size(), 0);
    return b;
}

SOTTO_DECL std::optional<bool> in_process_hub::vote(ballot& b, int rank, bool yes) {
    std::unique_lock lock(votes_mutex_);
    if (failed()) return std::nullopt;
    const std::uint64_t poll = b.cast[b.place(rank)]++;
    b.all_true = b.all_true && yes;
    if (++b.votes == b.members.size()) {
        b.verdict = std::exchange(b.all_true, true);
        b.votes = 0;
        ++b.completed;
        b.changed.notify_all();
        return b.verdict;
    }
    deadline limit(std::chrono::steady_clock::now(), options_.timeout);
    bool late = false;
    while (b.completed == poll && !failed()) {
        const int absent = first_absent(b);
        if (late || box(absent).left.load()) {
            if (late)
                record({end_of_chain(rank, absent), late_cause(rank, "a vote"), errc::timed_out});
            else
                record({absent, left_cause, errc::peer_failed});
            lock.unlock();
            wake_all();
            return std::nullopt;
        }
        box(rank).waits_for.store(absent);
        b.changed.wait_until(lock, limit.next_look());
        box(rank).waits_for.store(local::waits_for_no_rank);
        late = limit.passed(std::chrono::steady_clock::now());
    }
    if (b.completed == poll) return std::nullopt;
    return b.verdict;  // the next poll cannot complete before this rank votes in it
}

SOTTO_DECL void in_process_hub::complete(transfer& t, transfer::stage stage, completion ended,
                                         std::int64_t peer_size) {
    mailbox& owner = box(t.owner);
    {
        const std::lock_guard lock(owner.mutex);
        t.ended = ended;
        t.peer_size = peer_size;
        t.reached.store(stage, std::memory_order_release);  // t now belongs to its owner again
        owner.activity.fetch_add(1);
    }
    owner.changed.notify_one();
}

SOTTO_DECL void in_process_hub::record(failure why) {
    failure_ = std::move(why);
    failed_.store(true, std::memory_order_release);
    for (ballot& b : *ballots_) b.changed.notify_all();
}

SOTTO_DECL void in_process_hub::wake_all() {
    for (int rank = 0; rank < size_; ++rank) {
        {
            const std::lock_guard lock(box(rank).mutex);
            box(rank).activity.fetch_add(1);
        }
        box(rank).changed.notify_all();
    }
}

SOTTO_DECL int in_process_hub::first_absent(const ballot& b) noexcept {
    int absent = -1;
    for (std::size_t i = 0; i < b.members.size(); ++i) {
        if (!b.missing(i)) continue;
        if (box(b.members[i]).left.load()) return b.members[i];
        if (absent < 0) absent = b.members[i];
    }
    return absent;
}

SOTTO_DECL int in_process_hub::end_of_chain(int waiter, int rank) noexcept {
    int late = rank == any_rank ? first_at_work(waiter) : rank;
    const int first = late;
    for (int steps = 0; steps < size_; ++steps) {
        const int next = box(late).waits_for.load();
        if (next < 0) return late;
        if (next == waiter) return first;
        late = next;
    }
    return first;
}

SOTTO_DECL int in_process_hub::first_at_work(int waiter) noexcept {
    for (int rank = 0; rank < size_; ++rank)
        if (rank != waiter && !box(rank).left && box(rank).waits_for == local::waits_for_no_rank)
            return rank;
    return (waiter + 1) % size_;
}

SOTTO_DECL std::string in_process_hub::late_cause(int waiter, const std::string& what) const {
    std::string text = "it was late: rank " + std::to_string(waiter) + " waited ";
    append_number(text, in_seconds(options_.timeout));
    return text + " s for " + what + "; in_process_options::timeout sets the limit";
}

}  // namespace sotto::detail
