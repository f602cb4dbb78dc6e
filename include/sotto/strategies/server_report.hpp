#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/staleness_counts.hpp"

namespace sotto {

/// Of nothing: 0.
double share_of(std::int64_t part, std::int64_t whole) noexcept;

}  // namespace sotto

namespace sotto::detail {

/// What a server has seen of one worker.
struct served_worker {
    int rank = 0;                           // whose these are
    std::int64_t rounds = 0;                // gradients that it pushed
    std::int64_t dropped = 0;               // of them, those that the server did without
    double waited = 0.0;                    // seconds between its pushes and their answers
    std::vector<std::int64_t> staleness{};  // gradients that came so many steps late, from 0 on
    std::int64_t lost = 0;  // rounds that the server's earlier process had, and this one had not

    /// Gradients that had a part in a step.
    std::int64_t applied() const noexcept { return rounds - dropped; }
    /// Of its rounds; 0 without any.
    double dropped_share() const noexcept { return share_of(dropped, rounds); }
    /// The largest that was; -1: none was.
    std::int64_t most_late() const noexcept;
    /// Steps that its gradients were late by, on average.
    double mean_late() const noexcept { return staleness_counts::mean_of(staleness); }

    friend bool operator==(const served_worker&, const served_worker&) = default;
};

/// What became of a server's checkpoints since it was made.
struct server_saves {
    std::string folder{};        // of this server
    std::int64_t written = 0;    // that were
    std::int64_t failed = 0;     // that could not be
    std::int64_t last_step = 0;  // of the server, when the last was written; 0: none was
    std::string failure{};       // why the last of those that failed did

    friend bool operator==(const server_saves&, const server_saves&) = default;
};

}  // namespace sotto::detail

namespace sotto {

/// What one server did and saw since it was made.
struct server_report {
    int rank = 0;                                  // which rank serves
    std::int64_t version = 0;                      // steps that it took, of earlier processes too
    std::vector<detail::served_worker> workers{};  // one entry each, in order
    std::optional<detail::server_saves> saves{};   // where it is to save what it holds
    /// Why the order of arrivals that it records ends too early; empty: it does not.
    std::string record_failure{};

    /// Gradients that came from all workers.
    std::int64_t rounds() const noexcept { return sum_of(&detail::served_worker::rounds); }
    /// Of these, those that came too late to count.
    std::int64_t dropped() const noexcept { return sum_of(&detail::served_worker::dropped); }
    /// Of all rounds; 0 without any.
    double dropped_share() const noexcept { return share_of(dropped(), rounds()); }

    friend bool operator==(const server_report&, const server_report&) = default;

private:
    std::int64_t sum_of(std::int64_t detail::served_worker::*part) const noexcept;
};

}  // namespace sotto

namespace sotto::detail {

/// Counts, while a server serves, what its report says.
class served_record {
public:
    /// Of so many workers.
    explicit served_record(int workers) : of_(static_cast<std::size_t>(workers)) {}

    /// Its push was taken: from now on it waits.
    void pushed(int worker, time_point now) noexcept { of(worker).since = now; }
    /// What became of a gradient; how many of the worker's were dropped until now, if this one was.
    std::int64_t took(int worker, bool dropped) noexcept;
    /// Gradients that came from a worker.
    std::int64_t rounds(int worker) noexcept { return of(worker).rounds; }
    /// So many rounds of a worker were forgotten by an earlier process.
    void lost(int worker, std::int64_t rounds) noexcept { of(worker).lost += rounds; }
    /// A worker was given parameters, and waits no more.
    void answered(int worker, time_point now) noexcept;
    /// Nobody waits who is gone.
    void left(int worker) noexcept { of(worker).since.reset(); }

    /// All of it, as of now.
    server_report report(const server_roles& roles, int rank, std::uint64_t version,
                         const staleness_counts& staleness) const;

private:
    struct counts {
        std::int64_t rounds = 0, dropped = 0, lost = 0;
        duration waited{};
        std::optional<time_point> since{};
    };
    counts& of(int worker) noexcept { return of_[static_cast<std::size_t>(worker)]; }

    std::vector<counts> of_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/server_report.ipp"
#endif
