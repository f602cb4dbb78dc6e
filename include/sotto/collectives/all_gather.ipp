#pragma once

#include "sotto/collectives/all_gather.hpp"

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/core/config.hpp"

namespace sotto::collectives {

SOTTO_DECL detail::collectives::all_gather_v all_gather::bind(transport_ref through,
                                                              std::int64_t bytes_max) const {
    return detail::collectives::all_gather_v(through, bytes_max, way);
}

}  // namespace sotto::collectives
