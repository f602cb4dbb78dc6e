#pragma once

#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::detail::topologies {

/// With which of its links a rank begins a round, where some may be lost: told to its neighbours.
struct live_links {
    int count = 0;      // links that are there
    double lost = 0.0;  // what the others weighed
};

/// `is_there(rank)`: whether the link to it is.
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

/// Whether all links of a rank weigh what by_degree gives them.
bool is_by_degree(const sotto::topologies::mixing_matrix& whole, int rank) noexcept;

/// What a link of a symmetric matrix weighs in the graph of those that are there. Both its ranks
/// find the same, whatever others know: the matrix stays symmetric, its rows add up to 1, and no
/// rank's own weight is below 0.
///   math    of c links that are there, weights that are by degree become 1 / (1 + max(c_a, c_b)).
///           Others grow by min(f_a, f_b), with f = 1 / (1 - lost): a row of which nothing is lost
///           grows by nothing, and one in which all that is there grows alike adds up to 1 again.
///           Where nothing is lost at either end it is the matrix's own weight
///   cost    O(degree of a + degree of b)
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
double live_weight(const sotto::topologies::mixing_matrix& whole, int a, int b,
                   const live_links& of_a, const live_links& of_b) noexcept;

}  // namespace sotto::detail::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/detail/live_weight.ipp"
#endif
