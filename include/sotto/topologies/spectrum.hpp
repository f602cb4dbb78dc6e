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

/// By how much one pass through these matrices shrinks differences between ranks, at least: the
/// second singular value of their product, the largest of the product less the mean of all. Each is
/// doubly stochastic.
///   math    ||W x - mean|| <= lambda ||x - mean||
///   cost    as of largest_on_differences; 64 ranks take less than a millisecond, 1,000 in a ring
///           a second
double second_singular_value(std::span<const mixing_matrix> rounds);

/// Of one round alone.
double second_singular_value(const mixing_matrix& round);

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// The same of what was asked for last, without computing it again: where ranks are threads of one
/// process, each asks for the same.
double last_singular_value(std::vector<sotto::topologies::mixing_matrix> rounds);

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// The smallest eigenvalue of a symmetric matrix; 1 of one rank.
double smallest_eigenvalue(const sotto::topologies::mixing_matrix& round);

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// What a topology is, in numbers.
struct mixing_summary {
    int ranks = 1;            // that mix
    std::int64_t period = 1;  // 0: each round is drawn anew
    int degree = 0;           // the most links out of a rank, or into one, in a round
    /// A round leaves at most this of differences; of matrices that take turns the geometric mean
    /// over their period, which bounds what whole periods leave and not what one round does. Not a
    /// number where rounds are drawn anew: no bound but 1 holds for all that may be drawn.
    double second_singular_value = 0.0;
    /// The same in the root of the mean of squares over what may be drawn: that very value where
    /// matrices repeat. Not a number where a topology that is drawn anew does not tell it.
    double mean_contraction = 0.0;

    /// Of the squares: E ||x - mean||^2 shrinks to 1 - p of it a round, or further.
    double p() const noexcept;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Of a topology's state. The name is for errors.
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
