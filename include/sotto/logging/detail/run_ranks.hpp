#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/logging/detail/run_costs.hpp"

namespace sotto::detail {

/// Totals of one rank of a run by its own log, over all calls of `fit`.
struct rank_total {
    int rank = 0;                   // rank that these are of
    std::int64_t steps = 0;         // steps of all calls
    double seconds = 0.0;           // time of all calls
    run_costs total{};              // costs of all calls
    run_costs steady{};             // costs of its last complete epoch
    std::int64_t steady_steps = 0;  // number of steps of that epoch

    friend bool operator==(const rank_total&, const rank_total&) = default;
};

/// Bytes that ranks sent, over the known ranks: the mean, and the rank that sent most. On a graph
/// with as many links at each rank the two are about the same.
struct sent_by_ranks {
    double mean = 0.0, most = 0.0;  // bytes
    int rank = 0;                   // rank that sent most; of equals the lowest
    std::size_t known = 0;          // number of known ranks

    /// True if one number represents all ranks.
    bool alike() const noexcept { return most <= 1.05 * mean; }
};

/// Returns the bytes of these ranks.
sent_by_ranks sent_by(std::span<const rank_total> ranks) noexcept;

/// The ranks that serve others, by a run's options.
struct serving_ranks {
    int servers = 0;         // number of ranks that serve
    bool dedicated = false;  // true: they only serve

    /// Number of ranks that only serve: the first ones.
    int alone() const noexcept { return dedicated ? servers : 0; }

    /// Reads one option of the run.
    void read(std::string_view name, std::string_view value) noexcept;
};

/// Returns the same from lines of "name = value".
serving_ranks serving_ranks_of(std::string_view description) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_ranks.ipp"
#endif
