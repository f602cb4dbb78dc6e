#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/transports/detail/messaging/control_stream.hpp"
#include "sotto/transports/detail/messaging/liveness.hpp"
#include "sotto/transports/detail/messaging/membership_words.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "sotto/wire/detail/protocols/membership_report.hpp"

namespace sotto::detail::net {

/// Membership of a job: live ranks, votes and the first failure, with the same answers on every
/// survivor. It has no input, output or clock: frames travel through `streams`, and callers pass
/// the time.
///
/// A poll is complete on a rank once every member's vote is there. When a rank fails, only some
/// ranks may have its vote. So a rank that learns of a failure stops counting votes and reports its
/// knowledge to all others: which ranks failed and which polls are complete. It adopts the
/// knowledge of others and reports again. Once all live ranks know the same, the failure is
/// settled: a poll that any live rank completed is complete for all, and any other never will be. A
/// further failure restarts this. A rank that leaves reports its knowledge as well. If ranks fail
/// at the same time, others may name different ones as the first.
///
/// A rank is dropped if it gives no sign of life for too long, see liveness. Time in which this
/// process is halted does not count.
///   wire    frames of heartbeat, vote, report and leave, see wire/detail/protocols/frame.hpp
///   cost    a vote: 64 bytes to every other rank. A failure: a report to every other rank for each
///           item that is new to one, at most twice the ranks times the failures
class membership {
public:
    enum class standing : std::uint8_t { alive, left, failed };

    struct failure {
        int rank = 0;
        std::string cause;
        errc code = errc::peer_failed;
    };

    struct ballot {
        std::uint64_t key = 0;
        std::vector<int> members;  // ascending; empty: other ranks have opened it, this rank not
                                   // yet
        struct votes {
            std::uint64_t cast = 0;
            bool latest[2] = {true, true};  // of even and of odd polls: no member is further ahead
        };
        std::vector<votes> of;        // by rank
        std::uint64_t completed = 0;  // number of complete polls
        std::size_t counted = 0;      // leading members whose votes in the next poll are there
        bool verdict = true;          // of the last complete poll

        bool has(int rank) const noexcept;
        /// True if the rank's vote in the next poll is missing.
        bool misses(int rank) const noexcept;
    };

    /// `seeds(from, to)` returns the seed of the digests in that direction.
    template <class Seeds>
    membership(int rank, int size, std::uint32_t epoch, const liveness_options& options,
               Seeds seeds, time_point now)
        : rank_(rank),
          options_(options),
          clock_(now, (options.silence() / 2 + options.period()) / 4),
          beat_(now) {
        const auto count = static_cast<std::size_t>(size);
        const std::size_t payload_max = wire::report_bytes_max(count);
        for (int other = 0; other < size; ++other) {
            peers_.push_back(
                {.stream = {epoch, seeds(rank, other), seeds(other, rank), payload_max},
                 .life = liveness(duration::zero())});
        }
    }

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(peers_.size()); }

    // Events

    /// Processes bytes from a rank. Votes take effect in `count_votes`.
    void received(int from, byte_view piece, time_point now);

    /// Completes polls. Call it once all bytes from all ranks are passed in: a report that this
    /// rank was dropped while it hung overtakes earlier votes.
    void count_votes();

    /// Reports that the connection of a rank ended.
    void closed(int from, const std::string& how);

    /// Sends this rank's sign of life when due, and drops ranks that are silent for too long.
    void tick(time_point now);

    /// Limits the silence of a rank, see liveness.
    const liveness& life_of(int rank) const noexcept { return at(rank).life; }
    const liveness_options& options() const noexcept { return options_; }

    /// True if frames of a rank are overdue. Then `observe` may find other signs of life.
    bool is_overdue(int rank, time_point now);
    /// Passes facts about the connections to an overdue rank.
    void observe(int rank, const path_facts& path, time_point now);

    time_point next_tick() const noexcept { return beat_ + options_.period(); }
    /// Time that counts toward limits, without halts of this process.
    duration counted(time_point now) noexcept { return clock_.at(now); }

    /// From now on this rank only drops a rank that fails, and notifies no other rank. The dropped
    /// rank is notified if possible: it may be alive, and must not wait for this one.
    void tolerate() noexcept { tolerates_ = true; }
    bool tolerates() const noexcept { return tolerates_; }

    /// Records that a rank failed, possibly this one. The first failure is reported to all ranks.
    void fail(int rank, std::string cause, errc code = errc::peer_failed);

    /// Next rank that failed or left while this is tolerated. It has no code if it is done.
    std::optional<failure> next_gone();

    /// A new process has taken this rank. It knows no earlier poll, so it has no vote, here or
    /// there.
    void readmit(int rank, control_stream stream, time_point now);

    /// True if no vote will come from a rank.
    bool is_voteless(int rank) const noexcept;

    /// Reports that this rank is done.
    void leave();

    /// Sets the rank that this rank waits for, for others that wait for it.
    void wait_for(int rank) noexcept { waits_for_ = rank; }

    /// If 0 waits for 1 and 1 for 2, then 2 is late, not 1. A rank that waits for any rank waits
    /// for the ranks that do not wait.
    int end_of_chain(int rank) const noexcept;

    // Votes

    /// Ballot of these ranks (ascending) with this label.
    ///   errors  invalid_option: there are 4096 others
    ballot& open(std::span<const int> members, std::uint32_t label);

    /// Votes and returns the number of the poll. The poll is complete once b.completed exceeds it.
    std::uint64_t vote(ballot& b, bool yes);

    /// While ranks may leave and return: a member whose vote will not come, or -1.
    int first_voteless(const ballot& b) const noexcept;

    /// A member whose vote is missing, preferably one whose vote will not come; or -1.
    int first_absent(const ballot& b) const noexcept;

    // State

    /// First failure that this rank knows of.
    const std::optional<failure>& first_failure() const noexcept { return first_; }
    standing of(int rank) const noexcept { return at(rank).is; }
    bool anybody_left() const noexcept { return anybody_left_; }
    /// Grows when a poll is complete, a rank fails or leaves, or knowledge grows after a failure.
    std::uint64_t version() const noexcept { return version_; }
    control_stream& stream(int to) noexcept { return at(to).stream; }
    /// Number of frames queued so far.
    std::uint64_t said() const noexcept { return said_; }

    /// After a failure: true if all live ranks know the same.
    bool settled() const noexcept;

private:
    static constexpr int nobody = -1;

    struct peer {
        control_stream stream;
        liveness life;
        standing is = standing::alive;
        bool is_anew = false;  // a new process has taken this rank
        int waits_for = waits_for_no_rank;
        std::optional<wire::membership_report> knows{};  // without first, code and cause
    };

    int rank_of(const peer& p) const noexcept;
    peer& at(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    const peer& at(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)]; }

    template <class Visitor>
    void for_each_other(Visitor&& visit) {
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is == standing::alive) visit(at(other));
    }

    /// Takes effect once for each rank: bytes behind one frame may contain more frames.
    void lose(int rank, std::string cause, errc code);

    void say(peer& to, const wire::frame_header& header, byte_view payload = {});

    static std::uint64_t key_of(std::span<const int> members, std::uint32_t label);

    ballot& ballot_of(std::uint64_t key);

    int first_at_work() const noexcept;

    /// Processes a whole frame. Returns a fault if its content is refused.
    std::optional<fault> heed(int from, const wire::frame_header& h, byte_view payload);

    std::optional<fault> note_waiting(peer& p, const wire::frame_header& h) noexcept;

    std::optional<fault> count(int from, const wire::frame_header& h);

    static const ballot::votes& votes_of(const ballot& b, std::size_t member) noexcept;

    void complete(ballot& b) noexcept;

    std::optional<fault> learn(peer& from, byte_view payload);

    /// Adopts polls that another rank has seen complete. Returns true if any was new.
    result<bool> adopt(std::span<const wire::membership_report::poll> polls);

    /// The rank is done. It passes on its knowledge: a vote may have reached only that rank.
    std::optional<fault> depart(peer& p, byte_view payload);

    wire::membership_report polls_known() const;

    static bytes report_of(const wire::membership_report& report);

    /// Reports this rank's knowledge to all others, including failed ones: they may be alive.
    void tell();

    int rank_;
    liveness_options options_;
    std::deque<peer> peers_;  // includes this rank
    std::map<std::uint64_t, ballot> ballots_;
    std::optional<failure> first_;
    wire::membership_report known_;
    int waits_for_ = waits_for_no_rank;
    std::uint64_t version_ = 0;
    std::uint64_t said_ = 0;
    bool gone_ = false;
    bool tolerates_ = false;
    bool anybody_left_ = false;
    std::deque<failure> gone_ranks_;
    waiting_time clock_;  // excludes halts of this process
    time_point beat_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/membership.ipp"
#endif
