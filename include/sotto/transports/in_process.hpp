#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/transports/detail/messaging/age_list.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// The transport between threads of one process: what one rank sees of the hub they share.
///
/// A message goes from the sender's memory to the receiver's in one copy, made by whichever side
/// comes second, and is complete at both sides at once. Nothing is buffered: a send completes only
/// when it was received.
///   cost    a message costs 4 uncontended locks and one memcpy; no allocation while no more
///           transfers are under way than `reserve` made room for
///   errors  peer_failure: a rank failed, left while it was waited for, or (errc::timed_out) let
///           somebody wait for longer than the timeout; mismatch: a message longer than the memory
///           posted for it, at the end that notices it first: to the other that one has failed;
///           invalid_option: a rank that does not exist, a vote among ranks without this one;
///           std::logic_error: a request that is spent, a call after withdraw, an await that
///           nothing could end
class in_process {
    using transfer = detail::local::transfer;

public:
    /// See transport.
    using ballot = detail::local::ballot;

    /// The endpoint of one rank; the hub must outlive it.
    in_process(detail::in_process_hub& hub, int rank) : hub_(&hub), rank_(rank) {
        if (rank < 0 || rank >= hub.size())
            throw invalid_option("in_process: rank " + std::to_string(rank) + " in a hub of " +
                                 std::to_string(hub.size()));
        reserve(hub.options().transfers);
    }
    in_process(const in_process&) = delete;
    in_process& operator=(const in_process&) = delete;
    /// Withdraws: see transport.
    ~in_process() { withdraw(); }

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return hub_->size(); }

    request send(int to, tag label, byte_view out) {
        begin("send", to, 0);
        transfer& t = take(true, to, label, static_cast<std::int64_t>(out.size()));
        t.source = out.data();
        return post(t);
    }

    request receive(int from, tag label, mutable_byte_view in) {
        begin("receive", from, any_rank);
        transfer& t = take(false, from, label, static_cast<std::int64_t>(in.size()));
        t.target = in.data();
        return post(t);
    }

    std::optional<completion> poll(request r) {
        begin();
        transfer& t = find(r);
        if (under_way(t)) {
            if (const auto leaver = hub_->left_for_ever(t); leaver && under_way(t)) lose(*leaver);
            return std::nullopt;
        }
        return finish(t);
    }

    completion wait(request r) {
        begin();
        transfer& t = find(r);
        if (under_way(t)) {
            const auto done = [&] { return !under_way(t); };
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

    std::uint64_t activity() const noexcept { return own().activity.load(); }

    void await(std::uint64_t seen) {
        begin();
        if (activity() != seen) return;
        if (hub_->has_leavers())
            for (const transfer* t = in_use_.oldest(); t; t = t->newer)
                if (const auto leaver = hub_->left_for_ever(*t); leaver && under_way(*t))
                    lose(*leaver);
        const transfer* const waited = in_use_.longest_waiting(under_way);
        if (!waited) {
            // A transfer completes before activity tells: who holds the mutex sees both or neither.
            const std::lock_guard lock(own().mutex);
            if (activity() != seen) return;
            misuse("await, but no transfer is under way that could end it");
        }
        if (!sleep(waited->peer, [&] { return activity() != seen; }))
            hub_->fail_as_late(rank_, waited->peer, describe(*waited));
        if (hub_->failed()) raise();
    }

    bool agree(bool vote) { return agree(hub_->everyone(), vote); }

    /// The vote of some ranks (ascending; this one among them), as atomic as that of all: for
    /// groups.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label) {
        return hub_->open_ballot(members, label);
    }

    bool agree(ballot& among, bool vote) {
        begin();
        if (!among.has(rank_))
            throw invalid_option("in_process: rank " + std::to_string(rank_) +
                                 " votes in a ballot that it is not a member of");
        const std::optional<bool> verdict = hub_->vote(among, rank_, vote);
        if (!verdict) raise();
        return *verdict;
    }

    void withdraw() noexcept {
        withdrawn_ = true;
        if (!owner_.is_this()) return;  // a child of fork(): other ranks are threads of the parent
        while (transfer* const t = in_use_.oldest()) {
            if (under_way(*t)) hub_->cancel(*t);
            retire(*t);
        }
    }

    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept {
        if (!owner_.is_this()) return withdraw();
        try {
            hub_->fail(rank_, std::string(cause), kind);
        } catch (...) {
            hub_->fail(rank_, {}, kind);  // no memory for the text
        }
        withdraw();
    }

    [[noreturn]] void blame(int rank, const std::string& cause, errc code) {
        hub_->fail(rank, cause, code);
        raise();
    }

    void at(peer_failure::occasion now) noexcept { occasion_ = now; }

    void reserve(std::int64_t count) {
        if (count < 0 || count > transfers_max)
            throw invalid_option("in_process: room for " + std::to_string(count) +
                                 " transfers; 0 to 2^24 are possible");
        const auto needed = (std::max)(static_cast<std::size_t>(count), transfers_.size());
        free_.reserve(needed);
        {
            const std::lock_guard lock(own().mutex);
            own().reserve(needed);
        }
        while (transfers_.size() < needed) {
            transfer& t = transfers_.emplace_back();
            t.owner = rank_;
            t.slot = static_cast<std::uint32_t>(transfers_.size() - 1);
            free_.push_back(t.slot);
        }
    }

    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    traffic counters() const noexcept { return traffic_; }

private:
    static constexpr std::int64_t transfers_max = std::int64_t{1} << 24;

    detail::local::mailbox& own() const noexcept { return hub_->box(rank_); }

    static bool under_way(const transfer& t) noexcept {
        return t.reached.load(std::memory_order_acquire) == transfer::stage::posted;
    }

    void begin() {
        if (hub_->options().disturb) hub_->options().disturb();
        if (hub_->failed()) raise();
        if (withdrawn_) misuse("called after it withdrew");
    }

    void begin(const char* what, int peer, int lowest) {
        begin();
        if (peer < lowest || peer >= size())
            throw invalid_option("in_process: rank " + std::to_string(rank_) + ": " + what +
                                 " with rank " + std::to_string(peer) + "; ranks are 0 to " +
                                 std::to_string(size() - 1));
    }

    transfer& take(bool sends, int peer, tag label, std::int64_t size) {
        if (free_.empty())
            reserve(std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(transfers_.size())));
        transfer& t = transfers_[free_.back()];
        free_.pop_back();
        t.sends = sends;
        t.peer = peer;
        t.label = label;
        t.size = size;
        in_use_.add(t);
        t.reached.store(transfer::stage::posted, std::memory_order_relaxed);
        return t;
    }

    request post(transfer& t) {
        const request made{t.slot, t.generation};
        hub_->post(t);
        return made;
    }

    transfer& find(request r) {
        if (r.slot < transfers_.size()) {
            transfer& t = transfers_[r.slot];
            if (t.generation == r.generation && t.reached.load() != transfer::stage::idle) return t;
        }
        misuse("the request (slot " + std::to_string(r.slot) + ", generation " +
               std::to_string(r.generation) + ") is spent or was never made here");
    }

    void retire(transfer& t) noexcept {
        t.reached.store(transfer::stage::idle);
        in_use_.remove(t);
        ++t.generation;
        free_.push_back(t.slot);  // has room for every slot
    }

    completion finish(transfer& t) {
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

    /// Blocks until `awake`, or the deadline: then false.
    template <class Predicate>
    bool sleep(int waits_for, Predicate awake) {
        detail::local::mailbox& box = own();
        deadline limit(now(), hub_->options().timeout);
        std::unique_lock lock(box.mutex);
        box.waits_for.store(waits_for);
        bool in_time = awake();
        while (!in_time && !limit.passed(now()))
            in_time = box.changed.wait_until(lock, limit.next_look(), awake);
        box.waits_for.store(detail::local::waits_for_nobody);
        return in_time;
    }

    [[noreturn]] void lose(int leaver) {
        hub_->fail_as_left(leaver);
        raise();
    }

    [[noreturn]] void raise() {
        withdraw();  // first: the caller's memory goes while the exception passes
        const auto& why = hub_->first_failure();
        throw peer_failure(why.rank, why.cause, occasion_, why.code);
    }

    [[noreturn]] void misuse(const std::string& what) const {
        throw std::logic_error("in_process: rank " + std::to_string(rank_) + ": " + what);
    }

    static std::string name(const tag& label) {
        return "(channel " + std::to_string(label.channel) + ", item " +
               std::to_string(label.item) + ", round " + std::to_string(label.round) + ")";
    }

    static std::string describe(const transfer& t) {
        return std::string(t.sends ? "it to receive a message " : "a message ") + name(t.label);
    }

    detail::owner_process owner_;
    detail::in_process_hub* hub_;
    int rank_;
    bool withdrawn_ = false;
    peer_failure::occasion occasion_;
    traffic traffic_;
    std::deque<transfer> transfers_;     // never moved: the other side holds pointers to them
    detail::age_list<transfer> in_use_;  // transfers that are not idle
    std::vector<std::uint32_t> free_;
};

static_assert(transport<in_process>);

}  // namespace sotto
