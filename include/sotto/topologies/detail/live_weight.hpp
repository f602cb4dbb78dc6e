#pragma once

#include <algorithm>
#include <cmath>

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
inline bool is_by_degree(const sotto::topologies::mixing_matrix& whole, int rank) noexcept {
    for (const neighbour& n : whole.into(rank)) {
        const auto most = (std::max)(whole.into(rank).size(), whole.into(n.rank).size());
        if (std::abs(n.weight * (1.0 + static_cast<double>(most)) - 1.0) >= 1e-9) return false;
    }
    return true;
}

/// What a link of a symmetric matrix weighs in the graph of those that are there. Both its ranks
/// find the same, whatever others know: the matrix stays symmetric, its rows add up to 1, and no
/// rank's own weight is below 0.
///   math    of c links that are there, weights that are by degree become 1 / (1 + max(c_a, c_b)).
///           Others grow by min(f_a, f_b), with f = 1 / (1 - lost): a row of which nothing is lost
///           grows by nothing, and one in which all that is there grows alike adds up to 1 again.
///           Where nothing is lost at either end it is the matrix's own weight
///   cost    O(degree of a + degree of b)
///   source  Xiao, Boyd, Kim 2007, Distributed average consensus with least-mean-square deviation
inline double live_weight(const sotto::topologies::mixing_matrix& whole, int a, int b,
                          const live_links& of_a, const live_links& of_b) noexcept {
    const double weight = whole.weight(a, b);
    const auto is_whole = [&](int rank, const live_links& of) {
        return of.count == static_cast<int>(whole.into(rank).size());
    };
    if (is_whole(a, of_a) && is_whole(b, of_b)) return weight;
    if (is_by_degree(whole, a) && is_by_degree(whole, b))
        return 1.0 / (1.0 + (std::max)(of_a.count, of_b.count));
    const auto kept = [](const live_links& of) { return of.lost < 1.0 ? 1.0 - of.lost : 1.0; };
    return weight / (std::max)(kept(of_a), kept(of_b));
}

}  // namespace sotto::detail::topologies
