#pragma once

#include "sotto/transports/in_process.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"
#include "sotto/transports/detail/messaging/age_list.hpp"

namespace sotto {

/// The transfers of one rank, and the process that made them.
struct in_process::transfers {
    static constexpr std::int64_t max = std::int64_t{1} << 24;

    detail::owner_process owner;
    std::deque<transfer> all;         // never moved: the other side holds pointers to its elements
    detail::age_list<transfer> used;  // transfers that are not idle
    std::vector<std::uint32_t> free;  // slots of the idle transfers
};

SOTTO_DECL in_process::in_process(detail::in_process_hub& hub, int rank)
    : hub_(&hub), rank_(rank), size_(hub.size()), transfers_(std::make_unique<transfers>()) {
    if (rank < 0 || rank >= size_)
        throw invalid_option("in_process: rank " + std::to_string(rank) + " in a hub of " +
                             std::to_string(size_));
    reserve(hub.options().transfers);
}

SOTTO_DECL in_process::~in_process() {
    withdraw();
}

SOTTO_DECL detail::local::mailbox& in_process::own() const noexcept {
    return hub_->box(rank_);
}

SOTTO_DECL std::uint64_t in_process::activity() const noexcept {
    return own().activity.load();
}

SOTTO_DECL bool in_process::agree(bool vote) {
    return agree(hub_->everyone(), vote);
}

SOTTO_DECL time_point in_process::now() const noexcept {
    return std::chrono::steady_clock::now();
}

template <class Predicate>
bool in_process::sleep(int waits_for, Predicate awake) {
    detail::local::mailbox& box = own();
    deadline limit(now(), hub_->options().timeout);
    std::unique_lock lock(box.mutex);
    box.waits_for.store(waits_for);
    bool in_time = awake();
    while (!in_time && !limit.passed(now()))
        in_time = box.changed.wait_until(lock, limit.next_look(), awake);
    box.waits_for.store(detail::local::waits_for_no_rank);
    return in_time;
}

SOTTO_DECL request in_process::send(int to, tag label, byte_view out) {
    begin("send", to, 0);
    transfer& t = take(true, to, label, static_cast<std::int64_t>(out.size()));
    t.source = out.data();
    return post(t);
}

SOTTO_DECL request in_process::receive(int from, tag label, mutable_byte_view in) {
    begin("receive", from, any_rank);
    transfer& t = take(false, from, label, static_cast<std::int64_t>(in.size()));
    t.target = in.data();
    return post(t);
}

SOTTO_DECL std::optional<completion> in_process::poll(request r) {
    begin();
    transfer& t = find(r);
    if (in_flight(t)) {
        if (const auto leaver = hub_->left_for_ever(t); leaver && in_flight(t)) lose(*leaver);
        return std::nullopt;
    }
    return finish(t);
}

SOTTO_DECL completion in_process::wait(request r) {
    begin();
    transfer& t = find(r);
    if (in_flight(t)) {
        const auto done = [&] { return !in_flight(t); };
        const bool in_time =
            sleep(t.peer, [&] { return done() || hub_->failed() || hub_->left_for_ever(t); });
        if (!done()) {
            if (!in_time) hub_->fail_as_late(rank_, t.peer, describe(t));
            if (hub_->failed()) raise();
            lose(*hub_->left_for_ever(t));
        }
    }
    return finish(t);
}

SOTTO_DECL void in_process::await(std::uint64_t seen) {
    begin();
    if (activity() != seen) return;
    if (hub_->has_leavers())
        for (const transfer* t = transfers_->used.oldest(); t; t = t->newer)
            if (const auto leaver = hub_->left_for_ever(*t); leaver && in_flight(*t)) lose(*leaver);
    const transfer* const waited = transfers_->used.longest_waiting(in_flight);
    if (!waited) {
        // A transfer completes before activity changes. With the mutex held, both are visible or
        // neither.
        const std::lock_guard lock(own().mutex);
        if (activity() != seen) return;
        misuse("await, but no transfer is under way that could end it");
    }
    if (!sleep(waited->peer, [&] { return activity() != seen; }))
        hub_->fail_as_late(rank_, waited->peer, describe(*waited));
    if (hub_->failed()) raise();
}

SOTTO_DECL in_process::ballot& in_process::open_ballot(std::span<const int> members,
                                                       std::uint32_t label) {
    return hub_->open_ballot(members, label);
}

SOTTO_DECL bool in_process::agree(ballot& among, bool vote) {
    begin();
    if (!among.has(rank_))
        throw invalid_option("in_process: rank " + std::to_string(rank_) +
                             " votes in a ballot that it is not a member of");
    const std::optional<bool> verdict = hub_->vote(among, rank_, vote);
    if (!verdict) raise();
    return *verdict;
}

SOTTO_DECL void in_process::withdraw() noexcept {
    withdrawn_ = true;
    if (!transfers_->owner.is_this())
        return;  // a child of fork(): other ranks are threads of the parent
    while (transfer* const t = transfers_->used.oldest()) {
        if (in_flight(*t)) hub_->cancel(*t);
        retire(*t);
    }
}

SOTTO_DECL void in_process::fail(std::string_view cause, errc kind) noexcept {
    if (!transfers_->owner.is_this()) return withdraw();
    try {
        hub_->fail(rank_, std::string(cause), kind);
    } catch (...) {
        hub_->fail(rank_, {}, kind);  // no memory for the text
    }
    withdraw();
}

SOTTO_DECL void in_process::blame(int rank, const std::string& cause, errc code) {
    hub_->fail(rank, cause, code);
    raise();
}

SOTTO_DECL void in_process::reserve(std::int64_t count) {
    if (count < 0 || count > transfers::max)
        throw invalid_option("in_process: room for " + std::to_string(count) +
                             " transfers; 0 to 2^24 are possible");
    const auto needed = (std::max)(static_cast<std::size_t>(count), transfers_->all.size());
    transfers_->free.reserve(needed);
    {
        const std::lock_guard lock(own().mutex);
        own().reserve(needed);
    }
    while (transfers_->all.size() < needed) {
        transfer& t = transfers_->all.emplace_back();
        t.owner = rank_;
        t.slot = static_cast<std::uint32_t>(transfers_->all.size() - 1);
        transfers_->free.push_back(t.slot);
    }
}

SOTTO_DECL bool in_process::in_flight(const transfer& t) noexcept {
    return t.reached.load(std::memory_order_acquire) == transfer::stage::posted;
}

SOTTO_DECL void in_process::begin() {
    if (hub_->options().disturb) hub_->options().disturb();
    if (hub_->failed()) raise();
    if (withdrawn_) misuse("called after it withdrew");
}

SOTTO_DECL void in_process::begin(const char* what, int peer, int lowest) {
    begin();
    if (peer < lowest || peer >= size())
        throw invalid_option("in_process: rank " + std::to_string(rank_) + ": " + what +
                             " with rank " + std::to_string(peer) + "; ranks are 0 to " +
                             std::to_string(size() - 1));
}

SOTTO_DECL in_process::transfer& in_process::take(bool sends, int peer, tag label,
                                                  std::int64_t size) {
    if (transfers_->free.empty())
        reserve(std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(transfers_->all.size())));
    transfer& t = transfers_->all[transfers_->free.back()];
    transfers_->free.pop_back();
    t.sends = sends;
    t.peer = peer;
    t.label = label;
    t.size = size;
    transfers_->used.add(t);
    t.reached.store(transfer::stage::posted, std::memory_order_relaxed);
    return t;
}

SOTTO_DECL request in_process::post(transfer& t) {
    const request made{t.slot, t.generation};
    hub_->post(t);
    return made;
}

SOTTO_DECL in_process::transfer& in_process::find(request r) {
    if (r.slot < transfers_->all.size()) {
        transfer& t = transfers_->all[r.slot];
        if (t.generation == r.generation && t.reached.load() != transfer::stage::idle) return t;
    }
    misuse("the request (slot " + std::to_string(r.slot) + ", generation " +
           std::to_string(r.generation) + ") is spent or was never made here");
}

SOTTO_DECL void in_process::retire(transfer& t) noexcept {
    t.reached.store(transfer::stage::idle);
    transfers_->used.remove(t);
    ++t.generation;
    transfers_->free.push_back(t.slot);  // has room for every slot
}

SOTTO_DECL completion in_process::finish(transfer& t) {
    const completion ended = t.ended;
    if (t.reached.load(std::memory_order_acquire) == transfer::stage::too_long) {
        const std::int64_t room = t.sends ? t.peer_size : t.size;
        const std::string text = "a message of " + std::to_string(ended.bytes) + " bytes " +
                                 name(t.label) + " from rank " + std::to_string(ended.source) +
                                 " to rank " + std::to_string(t.receiver()) +
                                 ", which has room for " + std::to_string(room);
        fail(text, errc::mismatch);
        throw mismatch(text);
    }
    (t.sends ? traffic_.bytes_sent : traffic_.bytes_received) += ended.bytes;
    ++(t.sends ? traffic_.messages_sent : traffic_.messages_received);
    retire(t);
    return ended;
}

SOTTO_DECL void in_process::lose(int leaver) {
    hub_->fail_as_left(leaver);
    raise();
}

SOTTO_DECL void in_process::raise() {
    withdraw();  // first: the caller's memory is freed while the exception unwinds
    const auto& why = hub_->first_failure();
    throw peer_failure(why.rank, why.cause, phase_, why.code);
}

SOTTO_DECL void in_process::misuse(const std::string& what) const {
    throw std::logic_error("in_process: rank " + std::to_string(rank_) + ": " + what);
}

SOTTO_DECL std::string in_process::name(const tag& label) {
    return "(channel " + std::to_string(label.channel) + ", item " + std::to_string(label.item) +
           ", round " + std::to_string(label.round) + ")";
}

SOTTO_DECL std::string in_process::describe(const transfer& t) {
    return std::string(t.sends ? "it to receive a message " : "a message ") + name(t.label);
}

}  // namespace sotto
