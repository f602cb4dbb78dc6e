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

/// The first rank that failed, and why: the same on every rank.
struct failure {
    int rank = 0;
    std::string cause;
    errc code = errc::peer_failed;
};

/// Ranks that vote together repeatedly.
struct ballot {
    std::vector<int> members;         // ascending
    std::uint32_t label = 0;          // distinguishes several ballots of the same members
    std::vector<std::uint64_t> cast;  // votes of each member so far
    std::size_t votes = 0;            // votes in the open poll
    std::uint64_t completed = 0;      // number of complete polls
    bool all_true = true;             // true if no vote in the open poll is false
    bool verdict = true;              // verdict of the last complete poll
    std::condition_variable changed;

    std::size_t place(int rank) const noexcept;
    bool has(int rank) const noexcept;
    bool missing(std::size_t member) const noexcept { return cast[member] == completed; }
};

}  // namespace sotto::detail::local

namespace sotto::detail {

/// State that the ranks of one process share: a mailbox each, the votes, and the first failure.
///
/// Locks: a mailbox's mutex guards what is posted there and wakes its rank. The votes' mutex orders
/// votes and failures. No thread holds two mailboxes' mutexes at once, and no mutex is held while a
/// message is copied.
class in_process_hub {
    using transfer = local::transfer;
    using mailbox = local::mailbox;
    using ballot = detail::local::ballot;
    using failure = detail::local::failure;

public:
    /// Throws invalid_option: no rank, no time, a negative number of transfers.
    in_process_hub(int size, in_process_options options);

    int size() const noexcept { return size_; }
    /// The options passed to the constructor.
    const in_process_options& options() const noexcept { return options_; }
    /// Mailbox of a rank, where its transfers meet.
    mailbox& box(int rank) noexcept { return (*boxes_)[static_cast<std::size_t>(rank)]; }
    /// Ballot of all ranks.
    ballot& everyone() noexcept { return ballots_->front(); }

    /// Starts a transfer. If the other side is there already, completes both.
    void post(transfer& t);

    /// Ends a posted transfer. Afterwards no thread accesses its memory.
    void cancel(transfer& t) noexcept;

    /// True if a rank failed.
    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

    /// Requires failed().
    const failure& first_failure() const noexcept { return failure_; }

    /// Records a rank as the first that failed, unless there is one already, and wakes all ranks.
    void fail(int rank, std::string cause, errc code = errc::peer_failed);

    /// Records that a rank is done. This is a failure only for ranks that still wait for it.
    void leave(int rank);

    /// True if any rank has left.
    bool has_leavers() const noexcept { return leavers_.load() > 0; }

    /// If a posted transfer can never complete because the ranks that it needs have left, returns
    /// such a rank.
    std::optional<int> left_for_ever(const transfer& t) noexcept;

    /// Records that this rank left while others waited for it.
    void fail_as_left(int rank) { fail(rank, left_cause); }

    /// Records that nothing arrived from `rank` before the deadline. Blames the last rank of the
    /// chain of waiting ranks.
    void fail_as_late(int waiter, int rank, const std::string& what);

    /// Ballot of these ranks (ascending) with this label. The first caller makes it.
    ballot& open_ballot(std::span<const int> members, std::uint32_t label);

    /// Votes and waits for the verdict. Returns nothing if a rank failed before the last vote
    /// arrived. One mutex orders votes and failures: once the last vote is in, every rank gets the
    /// verdict, in spite of later failures.
    std::optional<bool> vote(ballot& b, int rank, bool yes);

private:
    static constexpr const char* left_cause = "it left: its function returned";

    void complete(transfer& t, transfer::stage stage, completion ended, std::int64_t peer_size);

    // Requires the votes' mutex, and that no rank failed before.
    void record(failure why);

    void wake_all();

    // A member that has not voted, preferably one that has left.
    int first_absent(const ballot& b) noexcept;

    // If 0 waits for 1 and 1 waits for 2, then 2 is late, not 1. A rank that waits for any rank
    // waits for the computing ranks.
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
