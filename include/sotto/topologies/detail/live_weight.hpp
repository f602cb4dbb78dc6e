#pragma once

#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::detail::topologies {

/// The live links of a rank at the start of a round. Each rank sends this to its neighbours.
struct live_links {
    int count = 0;      // number of live links
    double lost = 0.0;  // sum of the weights of the lost links
};

/// `is_there(rank)`: true if the link to that rank is live.
template <class Predicate>
live_links live_links_of(const sotto::topologies::mixing_matrix& whole, int rank,
                         Predicate is_there) {
    live_links found;
    for (const neighbour& n : whole.into(rank))
        if (is_there(n.rank))
            ++found.count;
        else
            found.lost += n.weight;
    return found;
}

/// True if all links of a rank have the weights of by_degree.
bool is_by_degree(const sotto::topologies::mixing_matrix& whole, int rank) noexcept;

/// Returns the weight of a link of a symmetric matrix in the graph of live links. Both of its ranks
/// compute the same weight without further messages. The matrix stays symmetric, its rows add up to
/// 1, and no rank's own weight falls below 0.
///   math    with c live links, weights by degree become 1 / (1 + max(c_a, c_b)). Other weights
///           grow by the factor min(f_a, f_b), with f = 1 / (1 - lost). A row without lost links
///           does not grow. A row whose live links all grow by its own f adds up to 1 again. If
///           neither end has lost a link, this is the matrix's own weight
///   cost    O(degree of a + degree of b)
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
double live_weight(const sotto::topologies::mixing_matrix& whole, int a, int b,
                   const live_links& of_a, const live_links& of_b) noexcept;

}  // namespace sotto::detail::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/detail/live_weight.ipp"
#endif
