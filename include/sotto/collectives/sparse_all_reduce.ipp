#pragma once

#include "sotto/collectives/sparse_all_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/require_option.hpp"

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

SOTTO_DECL detail::collectives::sparse_all_reduce sparse_reduce_scatter::bind(
    transport_ref through, std::int64_t n, std::int64_t entries_max,
    wire::value_format format) const {
    if (!keeps_all())
        require_option("sparse_reduce_scatter", "kept", kept, detail::allowed::above(0.0),
                       " (1 keeps as many sums as one rank sends entries), or "
                       "sparse_reduce_scatter::all");
    return detail::collectives::sparse_all_reduce(through, n, entries_max, kept_of(entries_max, n),
                                                  format);
}

}  // namespace sotto::collectives
