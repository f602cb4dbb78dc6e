#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/detail/messaging/age_list.hpp"
#include "sotto/transports/detail/messaging/match_table.hpp"
#include "sotto/transports/detail/messaging/framed_connection.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// What a tag is called in errors.
std::string name_of(const tag& label);

/// What is waited for, by its other end.
std::string described(const transfer& t);

/// That a message is longer than the memory for it, at one of its ends.
std::string too_long(const transfer& t, int rank);

/// The transfers of one rank and a link to each of the others, without input or output: what is
/// left of a transport once who moves the bytes, and who waits for how long, is taken away.
///   errors  invalid_option: a rank that does not exist, or is not connected; std::logic_error: a
///           request that is spent
class message_exchange {
public:
    /// `transport`: its name, for errors.
    message_exchange(const char* transport, int rank, int size);

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(links_.size()); }

    void connect(int peer, const link_terms& terms);
    /// Whether bytes of this rank would bring a transfer on.
    bool expects(int peer) noexcept;

    /// Null for this rank itself and for ranks that it is not connected to.
    framed_connection* link_to(int peer) noexcept;

    transfer& send(int to, const tag& label, byte_view out);

    /// Whether a message is here that nobody has received: its sender may be gone.
    bool holds(int from, const tag& label) const noexcept;

    transfer& receive(int from, const tag& label, mutable_byte_view in);

    static request request_of(const transfer& t) noexcept { return {t.slot, t.generation}; }

    transfer& find(request r);

    /// How a transfer ended, which is then spent; requires that it is complete.
    completion finish(transfer& t) noexcept;

    void retire(transfer& t) noexcept;

    /// Calls with each transfer that is under way.
    ///   cost    O(transfers in use)
    template <class Visitor>
    void for_each_under_way(Visitor&& visit) {
        for (transfer* t = in_use_.oldest(); t; t = t->newer)
            if (t->reached == transfer::stage::posted) visit(*t);
    }

    /// The receive that is under way for longest, or else the send; null if nothing is.
    const transfer* longest_waiting() const noexcept;

    /// Another process is this rank now: what the one before sent is not received any more.
    void forget(int peer) noexcept { board_.forget(peer); }

    /// Bytes of a rank's messages that wait for their receive: no more than the link's budget.
    std::int64_t queued_from(int peer) const noexcept { return board_.bytes_from(peer); }

    /// Transfers that were begun and whose end nobody has asked for.
    std::size_t in_use() const noexcept { return transfers_.size() - free_.size(); }

    /// Ends what is under way with one rank, which is gone; receives from any rank wait on, also
    /// for what others have sent meanwhile.
    void disconnect(int peer);

    /// Ends everything: no memory that was lent is touched any more, by whatever bytes come.
    void abandon() noexcept;

    void reserve(std::int64_t count);

    std::uint64_t activity() const noexcept { return activity_; }
    void stir() noexcept { ++activity_; }
    const traffic& counters() const noexcept { return traffic_; }

    [[noreturn]] void misuse(const std::string& what) const;

private:
    static std::size_t slot_of(int peer) noexcept { return static_cast<std::size_t>(peer + 1); }

    static constexpr std::int64_t transfers_max = std::int64_t{1} << 24;

    void require_rank(const char* what, int peer, int lowest);

    transfer& take(bool sends, int peer, const tag& label, std::int64_t size);

    /// Gives a receive that waits what is there for it. Where that fails, nothing has changed.
    void meet_arrival(transfer& receive);

    /// A message of this rank to itself.
    void meet(transfer& send, transfer& receive) noexcept;

    const char* transport_;
    int rank_;
    std::uint64_t activity_ = 0;
    traffic traffic_;
    std::deque<transfer> transfers_;  // never moved: links and board hold pointers to them
    std::vector<std::uint32_t> free_;
    age_list<transfer> in_use_;           // transfers that are not idle
    std::vector<std::int64_t> expected_;  // receives from any rank, from rank 0, from rank 1, ...
    match_table board_;
    std::vector<std::unique_ptr<framed_connection>> links_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/message_exchange.ipp"
#endif
