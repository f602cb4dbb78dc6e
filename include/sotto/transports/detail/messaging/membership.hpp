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

/// Who is alive, what was voted, and who failed first: the same answers at every survivor. Without
/// input, output or clock: frames go in and out by `streams`, time is told.
///
/// A poll is complete at a rank once every member's vote is there. When a rank fails, some may have
/// its vote and others not. So whoever hears of a failure stops counting votes and tells all others
/// what it knows: who failed and which polls are complete. It takes over what others knew, and says
/// so again. Once all that live know the same it is settled: a poll that one of them completed is
/// complete for all, and any other never will be. Further failures meanwhile begin it anew. A rank
/// that leaves says what it knows as well. Of ranks that fail at the same time some may name one
/// and some another as the first.
///
/// A rank is missed when it gives no sign of life for too long, see liveness. Time in which this
/// process is halted does not count.
///   wire    frames of heartbeat, vote, report and leave, see wire/detail/protocols/frame.hpp
///   cost    a vote: 64 bytes to every other rank; a failure: a report to every other rank for each
///           thing that is new to one, at most twice the ranks times the failures
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
        std::vector<int> members;  // ascending; empty: others have opened it, this rank not yet
        struct votes {
            std::uint64_t cast = 0;
            bool latest[2] = {true, true};  // of even and of odd polls: nobody is further ahead
        };
        std::vector<votes> of;        // by rank
        std::uint64_t completed = 0;  // polls
        std::size_t counted = 0;      // the first members, whose votes in the next one are there
        bool verdict = true;          // of the last complete poll

        bool has(int rank) const noexcept;
        /// Whether its vote in the next poll is not there.
        bool misses(int rank) const noexcept;
    };

    /// `seeds(from, to)`: of the digests in that direction.
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

    // What happens

    /// Bytes came from a rank. Votes take effect by `count_votes`.
    void received(int from, byte_view piece, time_point now);

    /// Completes polls, once all that has come from all ranks was handed in: word that this rank
    /// was taken for dead while it hung outruns the votes that came before.
    void count_votes();

    /// Its connection ended.
    void closed(int from, const std::string& how);

    /// Time passes: says that this rank lives, and misses those that do not.
    void tick(time_point now);

    /// What limits the silence of a rank, see liveness.
    const liveness& life_of(int rank) const noexcept { return at(rank).life; }
    const liveness_options& options() const noexcept { return options_; }

    /// Whether frames of a rank are missing: then `observe` may find other signs of life.
    bool is_overdue(int rank, time_point now);
    /// What is known of the connections to a rank that is overdue.
    void observe(int rank, const path_facts& path, time_point now);

    time_point next_tick() const noexcept { return beat_ + options_.period(); }
    /// Time that counts toward limits: a halt of this process does not.
    duration counted(time_point now) noexcept { return clock_.at(now); }

    /// From now on a rank that fails is only gone, for this rank alone: nothing is told to others.
    /// That rank is told, as far as it can be: it may live, and is not to wait for this one.
    void tolerate() noexcept { tolerates_ = true; }
    bool tolerates() const noexcept { return tolerates_; }

    /// A rank failed, this one perhaps. The first failure is told to all.
    void fail(int rank, std::string cause, errc code = errc::peer_failed);

    /// The next rank that went while that is tolerated; with no code where it is done.
    std::optional<failure> next_gone();

    /// Another process is this rank now. It knows of no poll before: it has no vote, here or there.
    void readmit(int rank, control_stream stream, time_point now);

    /// Whether no vote will come from a rank.
    bool is_voteless(int rank) const noexcept;

    /// This rank is done.
    void leave();

    /// Whom this rank waits for, for others that wait for it.
    void wait_for(int rank) noexcept { waits_for_ = rank; }

    /// If 0 waits for 1 and 1 for 2, then 2 is late and not 1. Who waits for anybody waits for
    /// those who do not wait.
    int end_of_chain(int rank) const noexcept;

    // Votes

    /// The ballot of these ranks (ascending) with this label.
    ///   errors  invalid_option: there are 4096 others
    ballot& open(std::span<const int> members, std::uint32_t label);

    /// Votes; returns the number of the poll, which is complete once b.completed exceeds it.
    std::uint64_t vote(ballot& b, bool yes);

    /// Where ranks may come and go: a member whose vote will not come, or -1.
    int first_voteless(const ballot& b) const noexcept;

    /// A member whose vote is missing: rather one from which none comes than one that may vote.
    int first_absent(const ballot& b) const noexcept;

    // What is so

    /// The first failure that this rank heard of.
    const std::optional<failure>& first_failure() const noexcept { return first_; }
    standing of(int rank) const noexcept { return at(rank).is; }
    bool anybody_left() const noexcept { return anybody_left_; }
    /// Grows when a poll is complete, a rank fails or leaves, or more is known after a failure.
    std::uint64_t version() const noexcept { return version_; }
    control_stream& stream(int to) noexcept { return at(to).stream; }
    /// Frames that this rank had to say so far.
    std::uint64_t said() const noexcept { return said_; }

    /// After a failure: whether everybody who lives knows the same.
    bool settled() const noexcept;

private:
    static constexpr int nobody = -1;

    struct peer {
        control_stream stream;
        liveness life;
        standing is = standing::alive;
        bool is_anew = false;  // another process was this rank
        int waits_for = waits_for_no_rank;
        std::optional<wire::membership_report> knows{};  // but for first, code and cause
    };

    int rank_of(const peer& p) const noexcept;
    peer& at(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    const peer& at(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)]; }

    template <class Visitor>
    void for_each_other(Visitor&& visit) {
        for (int other = 0; other < size(); ++other)
            if (other != rank_ && at(other).is == standing::alive) visit(at(other));
    }

    /// Once: what came with one frame may hold more of them.
    void lose(int rank, std::string cause, errc code);

    void say(peer& to, const wire::frame_header& header, byte_view payload = {});

    static std::uint64_t key_of(std::span<const int> members, std::uint32_t label);

    ballot& ballot_of(std::uint64_t key);

    int first_at_work() const noexcept;

    /// Takes a frame that is whole; refuses what it means.
    std::optional<fault> heed(int from, const wire::frame_header& h, byte_view payload);

    std::optional<fault> note_waiting(peer& p, const wire::frame_header& h) noexcept;

    std::optional<fault> count(int from, const wire::frame_header& h);

    static const ballot::votes& votes_of(const ballot& b, std::size_t member) noexcept;

    void complete(ballot& b) noexcept;

    std::optional<fault> learn(peer& from, byte_view payload);

    /// Takes over polls that another rank has seen complete; whether any was news.
    result<bool> adopt(std::span<const wire::membership_report::poll> polls);

    /// It is done, and leaves behind what it knows: somebody's vote may have come to it alone.
    std::optional<fault> depart(peer& p, byte_view payload);

    wire::membership_report polls_known() const;

    static bytes report_of(const wire::membership_report& report);

    /// Tells all others what this rank knows, the failed ones too: they may live.
    void tell();

    int rank_;
    liveness_options options_;
    std::deque<peer> peers_;  // this rank too
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
    waiting_time clock_;  // a halt of this process is no time
    time_point beat_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/membership.ipp"
#endif
