#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::detail::topologies {

/// One link of a mixing graph: rank `to` mixes in the value of rank `from`.
struct mixing_link {
    int from = 0, to = 0;  // ranks
    double weight = 0.0;   // weight of `from`'s value at `to`

    friend bool operator==(const mixing_link&, const mixing_link&) = default;
};

/// The mixing graph of a run, for logs and reports: the mean of a topology's matrices over its
/// period, or over `rounds_seen_max` rounds if each is drawn at random.
struct mixing_graph {
    static constexpr std::int64_t rounds_seen_max = 64;  // if each round is drawn at random
    static constexpr std::size_t links_max = 1 << 14;    // most links that `links` lists

    int ranks = 1;            // number of ranks that mix
    std::int64_t period = 1;  // rounds; 0: each round is drawn at random
    /// Bound on the factor by which a round shrinks differences between ranks. The geometric mean
    /// over the period if several matrices take turns. NaN if unknown.
    double second_singular_value = std::numeric_limits<double>::quiet_NaN();
    /// A round leaves at most 1 - p of the squared distance to the mean: p is 1 minus the squared
    /// contraction. An expectation if rounds are drawn at random. NaN if unknown.
    double p = std::numeric_limits<double>::quiet_NaN();
    std::string topology{};  // its name; empty: unknown
    int degree = 0;          // most links out of a rank, or into one, in a round
    /// Bytes that the rank with the most links sends in a round, if all messages have the same
    /// length. 0: unknown.
    std::int64_t bytes_a_round = 0;
    bool ranks_may_go = false;         // true: ranks may leave; these are the initial ones
    std::int64_t link_count = 0;       // total; each direction counts as one
    std::vector<mixing_link> links{};  // by `to`, then `from`; empty if more than links_max
};

/// Returns the graph of a topology. `matrix(round)` returns its matrix, valid until the next call.
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
