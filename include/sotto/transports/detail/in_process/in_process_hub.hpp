#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/in_process/in_process_mailbox.hpp"
#include "sotto/transports/in_process_options.hpp"

namespace sotto::detail::local {

/// The first rank that failed, and why: the same for everybody who asks.
struct failure {
    int rank = 0;
    std::string cause;
    errc code = errc::peer_failed;
};

/// Some ranks that vote together, again and again.
struct ballot {
    std::vector<int> members;         // ascending
    std::uint32_t label = 0;          // tells apart several ballots of the same members
    std::vector<std::uint64_t> cast;  // votes of each member so far
    std::size_t votes = 0;            // in the poll that is open
    std::uint64_t completed = 0;      // polls
    bool all_true = true;             // in the poll that is open
    bool verdict = true;              // of the last complete poll
    std::condition_variable changed;

    std::size_t place(int rank) const noexcept;
    bool has(int rank) const noexcept;
    bool missing(std::size_t member) const noexcept { return cast[member] == completed; }
};

}  // namespace sotto::detail::local

namespace sotto::detail {

/// What the ranks of one process share: a mailbox each, the votes, and the first failure.
///
/// Locks: a mailbox's mutex guards what is posted there and wakes its rank, the votes' mutex orders
/// votes and failures. No thread holds two of the mailboxes' at once, and messages are copied while
/// none is held.
class in_process_hub {
    using transfer = local::transfer;
    using mailbox = local::mailbox;
    using ballot = detail::local::ballot;
    using failure = detail::local::failure;

public:
    /// Throws invalid_option: no rank, no time, a negative number of transfers.
    in_process_hub(int size, in_process_options options);

    int size() const noexcept { return size_; }
    /// As they were given.
    const in_process_options& options() const noexcept { return options_; }
    /// Where a rank's transfers meet.
    mailbox& box(int rank) noexcept { return (*boxes_)[static_cast<std::size_t>(rank)]; }
    /// The ballot of all ranks.
    ballot& everyone() noexcept { return ballots_->front(); }

    /// Starts a transfer; if the other side is there already, completes both.
    void post(transfer& t);

    /// Ends a posted transfer: afterwards nobody touches its memory.
    void cancel(transfer& t) noexcept;

    /// Whether a rank failed.
    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

    /// Requires failed().
    const failure& first_failure() const noexcept { return failure_; }

    /// Marks a rank as the first that failed, unless another one is already, and wakes all.
    void fail(int rank, std::string cause, errc code = errc::peer_failed);

    /// A rank is done. That is a failure only for those who still wait for it.
    void leave(int rank);

    /// Whether any rank has left.
    bool has_leavers() const noexcept { return leavers_.load() > 0; }

    /// Whether a posted transfer can never complete because those it needs have left; then, who.
    std::optional<int> left_for_ever(const transfer& t) noexcept;

    /// This rank left while others waited for it.
    void fail_as_left(int rank) { fail(rank, left_cause); }

    /// Nothing came from `rank` in time. Blames the end of the chain of those who wait.
    void fail_as_late(int waiter, int rank, const std::string& what);

    /// The ballot of these ranks (ascending) and this label: made by the first who asks.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    /// Votes and waits for the verdict; nothing if a rank failed before the last vote arrived. One
    /// mutex orders votes and failures: once the last vote is in, everybody gets the verdict,
    /// whatever happens next.
    std::optional<bool> vote(ballot& b, int rank, bool yes);

private:
    static constexpr const char* left_cause = "it left: its function returned";

    void complete(transfer& t, transfer::stage stage, completion ended, std::int64_t peer_size);

    // Requires the votes' mutex, and that nobody failed before.
    void record(failure why);

    void wake_all();

    // A member that has not voted: rather one that has left than one that may still come.
    int first_absent(const ballot& b) noexcept;

    // If 0 waits for 1 and 1 waits for 2, then 2 is late and not 1. Who waits for anybody waits for
    // those who compute.
    int end_of_chain(int waiter, int rank) noexcept;

    int first_at_work(int waiter) noexcept;

    std::string late_cause(int waiter, const std::string& what) const;

    int size_;
    in_process_options options_;
    owned_by_process<std::unique_ptr<mailbox[]>> boxes_;
    std::mutex votes_mutex_;
    owned_by_process<std::list<ballot>> ballots_;
    std::atomic<bool> failed_ = false;
    failure failure_;
    std::atomic<int> leavers_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/in_process/in_process_hub.ipp"
#endif
