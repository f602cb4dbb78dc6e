#pragma once

#include "sotto/collectives/sparse_all_reduce.hpp"

#include <cmath>

#include "sotto/core/config.hpp"

namespace sotto::collectives {

SOTTO_DECL std::int64_t sparse_reduce_scatter::kept_at_most(std::int64_t entries, std::int64_t n,
                                                            int world) const noexcept {
    if (!keeps_all()) return kept_of(entries, n);
    return entries < n / world ? entries * world : n;
}

SOTTO_DECL std::int64_t sparse_reduce_scatter::kept_of(std::int64_t entries,
                                                       std::int64_t n) const noexcept {
    if (keeps_all()) return detail::collectives::keep_all_sums;
    const double exact = std::ceil(kept * static_cast<double>(entries));
    return exact < static_cast<double>(n) ? static_cast<std::int64_t>(exact) : n;
}

}  // namespace sotto::collectives
