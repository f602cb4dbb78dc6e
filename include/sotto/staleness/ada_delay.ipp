#pragma once

#include "sotto/staleness/ada_delay.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL double ada_delay::state::begin(const late_gradient& what) const noexcept {
    return 1.0 / (1.0 + what.learning_rate * c *
                            std::sqrt(static_cast<double>(what.step + what.staleness)));
}

SOTTO_DECL ada_delay::state ada_delay::bind(const layout&, int) const {
    require_option("ada_delay", "c", c, detail::allowed::at_least(0.0));
    return {c};
}

}  // namespace sotto
