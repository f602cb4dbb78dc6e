#pragma once

#include "sotto/collectives/hierarchical.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::collectives {

SOTTO_DECL detail::collectives::range hierarchical::host_of(int rank, int world) const {
    require_option("hierarchical", "ranks_per_host", ranks_per_host, detail::allowed::at_least(1));
    const std::int64_t first = rank - rank % ranks_per_host;
    return {first, first + std::min<std::int64_t>(ranks_per_host, world - first)};
}

SOTTO_DECL std::int64_t hierarchical::hosts(int world) const noexcept {
    return world / ranks_per_host + (world % ranks_per_host != 0);
}

}  // namespace sotto::collectives

namespace sotto::detail::collectives {

SOTTO_DECL hosts::hosts(transport_ref world, const sotto::collectives::hierarchical& options)
    : inside_(world, members_inside(world, options), inside_label) {
    if (inside_.rank() == 0) leaders_.emplace(world, first_ranks(world, options), leaders_label);
}

SOTTO_DECL std::vector<int> hosts::members_inside(transport_ref world,
                                                  const sotto::collectives::hierarchical& options) {
    const range host = options.host_of(world.rank(), world.size());
    std::vector<int> members;
    for (std::int64_t rank = host.begin; rank < host.end; ++rank)
        members.push_back(static_cast<int>(rank));
    return members;
}

SOTTO_DECL std::vector<int> hosts::first_ranks(transport_ref world,
                                               const sotto::collectives::hierarchical& options) {
    std::vector<int> members;
    for (std::int64_t rank = 0; rank < world.size(); rank += options.ranks_per_host)
        members.push_back(static_cast<int>(rank));
    return members;
}

}  // namespace sotto::detail::collectives
