#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/logging/detail/run_costs.hpp"

namespace sotto::detail {

/// What one rank did of a run by its own log, all calls of `fit` together.
struct rank_total {
    int rank = 0;                   // whose these are
    std::int64_t steps = 0;         // of all calls
    double seconds = 0.0;           // of all calls
    run_costs total{};              // of all calls
    run_costs steady{};             // of its last complete epoch, and the steps of that
    std::int64_t steady_steps = 0;  // of that epoch

    friend bool operator==(const rank_total&, const rank_total&) = default;
};

/// What ranks put on the wire of which it is known: one on average, and the one that sent most. On
/// a graph whose ranks have as many links as each other it is about the same.
struct sent_by_ranks {
    double mean = 0.0, most = 0.0;  // bytes
    int rank = 0;                   // that sent most, of equals the lowest
    std::size_t known = 0;          // ranks of which it is known

    /// Whether one figure stands for all of them.
    bool alike() const noexcept { return most <= 1.05 * mean; }
};

/// Of these ranks.
sent_by_ranks sent_by(std::span<const rank_total> ranks) noexcept;

/// Which ranks serve others, by what a run's options say of it.
struct serving_ranks {
    int servers = 0;         // ranks
    bool dedicated = false;  // whether they do nothing else

    /// Ranks that serve alone: the first ones.
    int alone() const noexcept { return dedicated ? servers : 0; }

    /// Takes one option of the run in.
    void read(std::string_view name, std::string_view value) noexcept;
};

/// The same from lines of "name = value".
serving_ranks serving_ranks_of(std::string_view description) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_ranks.ipp"
#endif
