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

/// Name of a tag in errors.
std::string name_of(const tag& label);

/// Text of what a transfer waits for at its other end.
std::string described(const transfer& t);

/// Error text for a message that is longer than the memory for it, on either end.
std::string too_long(const transfer& t, int rank);

/// The transfers of one rank and its links to all others, without input or output. A transport adds
/// the moving of bytes and the waiting.
///   errors  invalid_option: a rank that does not exist, or is not connected; std::logic_error: a
///           request that is spent
class message_exchange {
public:
    /// `transport`: its name, for errors.
    message_exchange(const char* transport, int rank, int size);

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(links_.size()); }

    void connect(int peer, const link_terms& terms);
    /// True if bytes from this rank could advance a transfer.
    bool expects(int peer) noexcept;

    /// Null for this rank itself and for ranks that it is not connected to.
    framed_connection* link_to(int peer) noexcept;

    transfer& send(int to, const tag& label, byte_view out);

    /// True if an unreceived message is here. Its sender may have left.
    bool holds(int from, const tag& label) const noexcept;

    transfer& receive(int from, const tag& label, mutable_byte_view in);

    static request request_of(const transfer& t) noexcept { return {t.slot, t.generation}; }

    transfer& find(request r);

    /// Returns how a transfer ended, and frees it. Requires that it is complete.
    completion finish(transfer& t) noexcept;

    void retire(transfer& t) noexcept;

    /// Calls visit(transfer) for each transfer in flight.
    ///   cost    O(transfers in use)
    template <class Visitor>
    void for_each_under_way(Visitor&& visit) {
        for (transfer* t = in_use_.oldest(); t; t = t->newer)
            if (t->reached == transfer::stage::posted) visit(*t);
    }

    /// Oldest receive in flight, or else the oldest send; null if there is none.
    const transfer* longest_waiting() const noexcept;

    /// Drops unreceived messages of this rank's previous process.
    void forget(int peer) noexcept { board_.forget(peer); }

    /// Bytes of a rank's messages that wait for their receive: at most the link's budget.
    std::int64_t queued_from(int peer) const noexcept { return board_.bytes_from(peer); }

    /// Number of transfers that were started and whose completion was not requested.
    std::size_t in_use() const noexcept { return transfers_.size() - free_.size(); }

    /// Ends all transfers with a rank that failed or left. Receives from any rank stay posted, and
    /// can get messages that others have already sent.
    void disconnect(int peer);

    /// Ends all transfers. No lent memory is accessed any more, even if more bytes arrive.
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

    /// Gives a posted receive the message that is here for it. If this fails, nothing has changed.
    void meet_arrival(transfer& receive);

    /// Delivers a message of this rank to itself.
    void meet(transfer& send, transfer& receive) noexcept;

    const char* transport_;
    int rank_;
    std::uint64_t activity_ = 0;
    traffic traffic_;
    std::deque<transfer> transfers_;  // never moved: links and board hold pointers to its elements
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
