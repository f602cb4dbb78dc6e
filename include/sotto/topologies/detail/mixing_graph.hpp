#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::detail::topologies {

/// What of one rank another mixes in.
struct mixing_link {
    int from = 0, to = 0;  // ranks
    double weight = 0.0;   // what of `from` counts at `to`

    friend bool operator==(const mixing_link&, const mixing_link&) = default;
};

/// Who mixes with whom, for people and logs: the mean of a topology's matrices over its period, or
/// over `rounds_seen_max` rounds where each is drawn anew.
struct mixing_graph {
    static constexpr std::int64_t rounds_seen_max = 64;  // of a topology that is drawn anew
    static constexpr std::size_t links_max = 1 << 14;    // for which `links` are listed

    int ranks = 1;            // that mix
    std::int64_t period = 1;  // 0: each round is drawn anew
    /// A round leaves at most this of differences; of matrices that take turns the geometric mean
    /// over their period. Not a number where that is not known.
    double second_singular_value = std::numeric_limits<double>::quiet_NaN();
    /// A round leaves at most 1 - p of the square of the distance to the mean: 1 less the square of
    /// that; in expectation where rounds are drawn anew. Not a number where that is not known.
    double p = std::numeric_limits<double>::quiet_NaN();
    std::string topology{};  // its name; empty: not known
    int degree = 0;          // the most links out of a rank, or into one, in a round
    /// What the rank with most links sends in a round, where messages are as long in all; 0: not
    /// known.
    std::int64_t bytes_a_round = 0;
    bool ranks_may_go = false;         // all of this is of the ranks that were there at first
    std::int64_t link_count = 0;       // in all, each way by itself
    std::vector<mixing_link> links{};  // by `to`, then `from`; none where there are over links_max
};

/// The graph of a topology: `matrix(round)` is its matrix, valid until the next call.
///   cost    O(ranks + links) for each round of the period
template <class Matrix>
mixing_graph graph_of(int ranks, std::int64_t period, double second_singular_value,
                      Matrix&& matrix) {
    mixing_graph graph{
        .ranks = ranks, .period = period, .second_singular_value = second_singular_value};
    const std::int64_t rounds =
        period == 0 ? mixing_graph::rounds_seen_max
                    : std::clamp<std::int64_t>(period, 1, mixing_graph::rounds_seen_max);
    sotto::topologies::mixing_matrix mean(ranks);
    for (std::int64_t round = 0; round < rounds; ++round) {
        const sotto::topologies::mixing_matrix& w = matrix(round);
        graph.degree = (std::max)({graph.degree, w.degree(), w.degree_in()});
        for (int to = 0; to < ranks; ++to)
            for (const neighbour& n : w.into(to))
                mean.link(to, n.rank, n.weight / static_cast<double>(rounds));
    }
    for (int to = 0; to < ranks; ++to)
        graph.link_count += static_cast<std::int64_t>(mean.into(to).size());
    if (graph.link_count > static_cast<std::int64_t>(mixing_graph::links_max)) return graph;
    for (int to = 0; to < ranks; ++to)
        for (const neighbour& n : mean.into(to)) graph.links.push_back({n.rank, to, n.weight});
    return graph;
}

}  // namespace sotto::detail::topologies
