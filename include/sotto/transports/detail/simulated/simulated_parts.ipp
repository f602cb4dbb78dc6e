#pragma once

#include "sotto/transports/detail/simulated/simulated_parts.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::simulation {

SOTTO_DECL duration trouble::extra_at(time_point now) {
    std::erase_if(delays, [&](const delay& d) { return d.until <= now; });
    duration longest{};
    for (const delay& d : delays) longest = (std::max)(longest, d.extra);
    return longest;
}

}  // namespace sotto::detail::simulation
