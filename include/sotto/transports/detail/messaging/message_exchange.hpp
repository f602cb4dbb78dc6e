#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/contentless.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/age_list.hpp"
#include "sotto/transports/detail/messaging/message_link.hpp"
#include "sotto/transports/detail/messaging/message_board.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// What a tag is called in errors.
inline std::string name_of(const tag& label) {
    return "(channel " + std::to_string(label.channel) + ", item " + std::to_string(label.item) +
           ", round " + std::to_string(label.round) + ")";
}

/// What is waited for, by its other end.
inline std::string described(const transfer& t) {
    return std::string(t.sends ? "it to receive a message " : "a message ") + name_of(t.label);
}

/// That a message is longer than the memory for it, at one of its ends.
inline std::string too_long(const transfer& t, int rank) {
    return "a message of " + std::to_string(t.ended.bytes) + " bytes " + name_of(t.label) +
           " from rank " + std::to_string(t.ended.source) + " to rank " + std::to_string(rank) +
           ", which has room for " + std::to_string(t.room());
}

/// The transfers of one rank and a link to each of the others, without input or output: what is
/// left of a transport once who moves the bytes, and who waits for how long, is taken away.
///   errors  invalid_option: a rank that does not exist, or is not connected; std::logic_error: a
///           request that is spent
class message_exchange {
public:
    /// `transport`: its name, for errors.
    message_exchange(const char* transport, int rank, int size)
        : transport_(transport),
          rank_(rank),
          expected_(static_cast<std::size_t>(size) + 1),
          links_(static_cast<std::size_t>(size)) {}

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(links_.size()); }

    void connect(int peer, const link_terms& terms) {
        links_[static_cast<std::size_t>(peer)] =
            std::make_unique<message_link>(peer, terms, board_, activity_);
    }
    /// Whether bytes of this rank would bring a transfer on.
    bool expects(int peer) noexcept {
        return expected_[slot_of(peer)] + expected_[slot_of(any_rank)] > 0 ||
               link_to(peer)->awaits_peer();
    }

    /// Null for this rank itself and for ranks that it is not connected to.
    message_link* link_to(int peer) noexcept {
        return links_[static_cast<std::size_t>(peer)].get();
    }

    transfer& send(int to, const tag& label, byte_view out) {
        require_rank("send", to, 0);
        transfer& t = take(true, to, label, static_cast<std::int64_t>(out.size()));
        t.source = out.data();
        if (to != rank_) {
            try {
                link_to(to)->send(t);
            } catch (...) {
                retire(t);
                throw;
            }
        } else if (transfer* const receive = board_.take_receive(rank_, label)) {
            meet(t, *receive);
        } else {
            board_.add_arrival(rank_, label, t.size, arrival::place::lent).sent_to_self = &t;
        }
        return t;
    }

    /// Whether a message is here that nobody has received: its sender may be gone.
    bool holds(int from, const tag& label) const noexcept {
        return board_.has_arrival(from, label);
    }

    transfer& receive(int from, const tag& label, mutable_byte_view in) {
        if (!holds(from, label)) require_rank("receive", from, any_rank);
        transfer& t = take(false, from, label, static_cast<std::int64_t>(in.size()));
        t.target = in.data();
        ++expected_[slot_of(from)];
        board_.post(t);
        try {
            meet_arrival(t);
        } catch (...) {
            retire(t);
            throw;
        }
        return t;
    }

    static request request_of(const transfer& t) noexcept { return {t.slot, t.generation}; }

    transfer& find(request r) {
        if (r.slot < transfers_.size()) {
            transfer& t = transfers_[r.slot];
            if (t.generation == r.generation && t.reached != transfer::stage::idle) return t;
        }
        misuse("the request (slot " + std::to_string(r.slot) + ", generation " +
               std::to_string(r.generation) + ") is spent or was never made here");
    }

    /// How a transfer ended, which is then spent; requires that it is complete.
    completion finish(transfer& t) noexcept {
        const completion ended = t.ended;
        (t.sends ? traffic_.bytes_sent : traffic_.bytes_received) += ended.bytes;
        ++(t.sends ? traffic_.messages_sent : traffic_.messages_received);
        retire(t);
        return ended;
    }

    void retire(transfer& t) noexcept {
        board_.remove(t);
        if (!t.sends) --expected_[slot_of(t.peer)];
        t.reached = transfer::stage::idle;
        in_use_.remove(t);
        ++t.generation;
        free_.push_back(t.slot);  // has room for every slot
    }

    /// Calls with each transfer that is under way.
    ///   cost    O(transfers in use)
    template <class Visitor>
    void for_each_under_way(Visitor&& visit) {
        for (transfer* t = in_use_.oldest(); t; t = t->newer)
            if (t->reached == transfer::stage::posted) visit(*t);
    }

    /// The receive that is under way for longest, or else the send; null if nothing is.
    const transfer* longest_waiting() const noexcept {
        return in_use_.longest_waiting(
            [](const transfer& t) { return t.reached == transfer::stage::posted; });
    }

    /// Another process is this rank now: what the one before sent is not received any more.
    void forget(int peer) noexcept { board_.forget(peer); }

    /// Bytes of a rank's messages that wait for their receive: no more than the link's budget.
    std::int64_t queued_from(int peer) const noexcept { return board_.bytes_from(peer); }

    /// Transfers that were begun and whose end nobody has asked for.
    std::size_t in_use() const noexcept { return transfers_.size() - free_.size(); }

    /// Ends what is under way with one rank, which is gone; receives from any rank wait on, also
    /// for what others have sent meanwhile.
    void disconnect(int peer) {
        std::vector<transfer*> again;
        again.reserve(transfers_.size());  // what follows cannot fail halfway
        if (message_link* const link = link_to(peer))
            link->abandon([&](transfer& t) {
                if (t.peer != any_rank) return;
                board_.post_again(t);
                again.push_back(&t);
            });
        for_each_under_way([&](transfer& t) {
            if (t.peer != peer) return;
            board_.remove(t);
            t.reached = transfer::stage::lost;
        });
        links_[static_cast<std::size_t>(peer)].reset();
        ++activity_;
        std::sort(again.begin(), again.end(),
                  [](const transfer* a, const transfer* b) { return a->posted < b->posted; });
        for (transfer* const t : again) meet_arrival(*t);
    }

    /// Ends everything: no memory that was lent is touched any more, by whatever bytes come.
    void abandon() noexcept {
        links_.clear();
        while (transfer* const t = in_use_.oldest()) retire(*t);
    }

    void reserve(std::int64_t count) {
        if (count < 0 || count > transfers_max)
            throw invalid_option(std::string(transport_) + ": room for " + std::to_string(count) +
                                 " transfers; 0 to 2^24 are possible");
        const auto needed = (std::max)(static_cast<std::size_t>(count), transfers_.size());
        free_.reserve(needed);
        board_.reserve(needed);
        while (transfers_.size() < needed) {
            transfer& t = transfers_.emplace_back();
            t.slot = static_cast<std::uint32_t>(transfers_.size() - 1);
            free_.push_back(t.slot);
        }
    }

    std::uint64_t activity() const noexcept { return activity_; }
    void stir() noexcept { ++activity_; }
    const traffic& counters() const noexcept { return traffic_; }

    [[noreturn]] void misuse(const std::string& what) const {
        throw std::logic_error(std::string(transport_) + ": rank " + std::to_string(rank_) + ": " +
                               what);
    }

private:
    static std::size_t slot_of(int peer) noexcept { return static_cast<std::size_t>(peer + 1); }

    static constexpr std::int64_t transfers_max = std::int64_t{1} << 24;

    void require_rank(const char* what, int peer, int lowest) {
        if (peer < lowest || peer >= size())
            throw invalid_option(std::string(transport_) + ": rank " + std::to_string(rank_) +
                                 ": " + what + " with rank " + std::to_string(peer) +
                                 "; ranks are 0 to " + std::to_string(size() - 1));
        if (peer >= 0 && peer != rank_ && !link_to(peer))
            throw invalid_option(std::string(transport_) + ": rank " + std::to_string(rank_) +
                                 ": " + what + " with rank " + std::to_string(peer) +
                                 ", which it is not connected to");
    }

    transfer& take(bool sends, int peer, const tag& label, std::int64_t size) {
        if (free_.empty())
            reserve(std::max<std::int64_t>(16, 2 * static_cast<std::int64_t>(transfers_.size())));
        transfer& t = transfers_[free_.back()];
        free_.pop_back();
        t.sends = sends;
        t.peer = peer;
        t.label = label;
        t.size = size;
        t.ended = {rank_, size};
        t.reached = transfer::stage::posted;
        in_use_.add(t);
        return t;
    }

    /// Gives a receive that waits what is there for it. Where that fails, nothing has changed.
    void meet_arrival(transfer& receive) {
        arrival* const there = board_.find_arrival(receive);
        if (!there) return;
        if (there->where == arrival::place::lent) {
            meet(*there->sent_to_self, receive);
            board_.release(*there);
        } else if (!there->has_content && has_content(receive.memory())) {
            misuse("a message without content came for memory that wants some");
        } else if (message_link* const link = link_to(there->source)) {
            link->hand_over(*there, receive);
        } else {  // from a rank that is gone
            deliver(receive, there->source, there->room());
            ++activity_;
            board_.release(*there);
        }
        board_.remove(receive);
    }

    /// A message of this rank to itself.
    void meet(transfer& send, transfer& receive) noexcept {
        deliver(receive, rank_, {send.source, static_cast<std::size_t>(send.size)});
        send.reached = receive.reached;
        send.peer_room = receive.size;
        activity_ += 2;
    }

    const char* transport_;
    int rank_;
    std::uint64_t activity_ = 0;
    traffic traffic_;
    std::deque<transfer> transfers_;  // never moved: links and board hold pointers to them
    std::vector<std::uint32_t> free_;
    age_list<transfer> in_use_;           // transfers that are not idle
    std::vector<std::int64_t> expected_;  // receives from any rank, from rank 0, from rank 1, ...
    message_board board_;
    std::vector<std::unique_ptr<message_link>> links_;
};

}  // namespace sotto::detail::net
