#pragma once

#include "sotto/collectives/detail/reduce_scatter.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL reduce_scatter::reduce_scatter(transport_ref through, std::int64_t size_max,
                                          wire::value_format format)
    : planned<ring_plan>(
          through, ring_plan(through.rank(), through.size(), ring_plan::phases::reduce_scatter),
          size_max, format),
      rank_(through.rank()),
      world_(through.size()) {}

}  // namespace sotto::detail::collectives
