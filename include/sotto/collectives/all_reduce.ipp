#pragma once

#include "sotto/collectives/all_reduce.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL all_reduce::all_reduce(transport_ref through, std::int64_t size_max,
                                  detail::collectives::algorithm which, wire::value_format format)
    : detail::collectives::planned<detail::collectives::all_reduce_plan>(
          through,
          detail::collectives::all_reduce_plan(through.rank(), through.size(), which, format),
          size_max, format) {}

}  // namespace sotto::detail::collectives
