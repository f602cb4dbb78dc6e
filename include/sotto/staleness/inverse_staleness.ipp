#pragma once

#include "sotto/staleness/inverse_staleness.hpp"

#include <algorithm>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL double inverse_staleness::state::begin(const late_gradient& what) const noexcept {
    return 1.0 / static_cast<double>(std::max<std::int64_t>(1, what.staleness));
}

}  // namespace sotto
