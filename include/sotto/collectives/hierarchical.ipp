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
