#pragma once

#include "sotto/topologies/detail/live_weight.hpp"

#include <algorithm>
#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto::detail::topologies {

SOTTO_DECL bool is_by_degree(const sotto::topologies::mixing_matrix& whole, int rank) noexcept {
    for (const neighbour& n : whole.into(rank)) {
        const auto most = (std::max)(whole.into(rank).size(), whole.into(n.rank).size());
        if (std::abs(n.weight * (1.0 + static_cast<double>(most)) - 1.0) >= 1e-9) return false;
    }
    return true;
}

SOTTO_DECL double live_weight(const sotto::topologies::mixing_matrix& whole, int a, int b,
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
