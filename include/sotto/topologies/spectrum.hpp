#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Returns a bound on the factor by which one pass through doubly stochastic matrices shrinks
/// differences between ranks. It is the second singular value of their product: the largest
/// singular value of the product minus the averaging matrix.
///   math    ||W x - mean|| <= lambda ||x - mean||
///   cost    as of largest_on_differences; under a millisecond for 64 ranks, a second for 1,000 in
///           a ring
double second_singular_value(std::span<const mixing_matrix> rounds);

/// The same for one round.
double second_singular_value(const mixing_matrix& round);

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// Returns second_singular_value, cached for the last argument. Ranks that are threads of one
/// process all ask for the same value.
double last_singular_value(std::vector<sotto::topologies::mixing_matrix> rounds);

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Returns the smallest eigenvalue of a symmetric matrix; 1 for one rank.
double smallest_eigenvalue(const sotto::topologies::mixing_matrix& round);

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// Mixing properties of a topology.
struct mixing_summary {
    int ranks = 1;            // number of ranks that mix
    std::int64_t period = 1;  // rounds; 0: each round is drawn at random
    int degree = 0;           // most links out of a rank, or into one, in a round
    /// Bound on the factor by which a round shrinks differences between ranks. If several matrices
    /// take turns, it is the geometric mean over their period, which bounds whole periods and not a
    /// single round. NaN if rounds are drawn at random: no bound below 1 holds for every draw.
    double second_singular_value = 0.0;
    /// Root mean square of that factor over the draws; equal to it if matrices repeat. NaN if a
    /// topology that draws rounds at random does not provide it.
    double mean_contraction = 0.0;

    /// A round reduces E ||x - mean||^2 to at most 1 - p of it.
    double p() const noexcept;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Returns the summary of a topology's state. `name` appears in errors.
///   errors  invalid_option: a matrix that is not doubly stochastic
template <class State>
detail::topologies::mixing_summary summary_of(State& state, std::string_view name = {}) {
    detail::topologies::mixing_summary all{.ranks = state.matrix(0).size(),
                                           .period = state.period()};
    std::vector<sotto::topologies::mixing_matrix> rounds;
    for (std::int64_t round = 0; round < std::max<std::int64_t>(all.period, 1); ++round) {
        rounds.push_back(state.matrix(round));
        rounds.back().require_doubly_stochastic(all.period == 1 ? -1 : round, name);
        all.degree = (std::max)({all.degree, rounds.back().degree(), rounds.back().degree_in()});
    }
    if (all.period == 0) {
        all.second_singular_value = all.mean_contraction = std::numeric_limits<double>::quiet_NaN();
        if constexpr (detail::topologies::tells_mean_contraction<State>)
            all.mean_contraction = state.mean_contraction();
        return all;
    }
    all.second_singular_value = all.mean_contraction =
        std::pow(detail::topologies::last_singular_value(std::move(rounds)),
                 1.0 / static_cast<double>(std::max<std::int64_t>(all.period, 1)));
    return all;
}

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/spectrum.ipp"
#endif
