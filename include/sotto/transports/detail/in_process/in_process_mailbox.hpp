#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "sotto/transports/detail/messaging/tag_lists.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::local {

/// One side of a message between two threads: the lent memory and its progress. It stays in the
/// receiver's mailbox until the other side is there. The later side copies.
struct transfer {
    enum class stage : std::uint8_t { idle, posted, complete, too_long };

    std::atomic<stage> reached = stage::idle;  // leaves posted under the owner's mutex, to wake it
    bool sends = false;
    bool linked = false;  // waits in a mailbox: no copy has begun. Guarded by the receiver's mutex
    int owner = 0;
    int peer = 0;
    tag label;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::int64_t size = 0;
    completion ended;              // written before `reached` leaves posted
    std::int64_t peer_size = 0;    // likewise: what the other side sent or had room for
    std::uint32_t slot = 0;        // its place in the endpoint
    std::uint32_t generation = 1;  // uses of the slot: distinguishes a spent request from a live
                                   // one
    transfer* before = nullptr;
    transfer* after = nullptr;
    transfer* older = nullptr;  // previously taken by its owner; only for the owner's thread
    transfer* newer = nullptr;  // likewise, taken next

    int receiver() const noexcept { return sends ? peer : owner; }
};

inline constexpr int waits_for_no_rank = -2;  // any_rank is -1

/// Transfers posted at one rank, and what that rank sleeps on. No two ranks share a cache line.
struct alignas(64) mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<std::uint64_t> activity = 0;
    std::atomic<int> waits_for = waits_for_no_rank;
    std::atomic<bool> left = false;

    /// Removes and returns the oldest counterpart of t, or posts t and returns null. Requires the
    /// mutex.
    transfer* match(transfer& t) noexcept;

    /// Removes t if no copy of it has begun. Requires the mutex.
    bool remove(transfer& t) noexcept;

    /// Makes room for waiting transfers. Requires the mutex.
    void reserve(std::size_t count);

private:
    tag_lists<transfer>& side(bool sends) noexcept { return sends ? sends_ : receives_; }

    // Transfers of one tag share a list, for all ranks: the order of posting decides.
    tag_lists<transfer> sends_, receives_;
};

}  // namespace sotto::detail::local

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/in_process/in_process_mailbox.ipp"
#endif
