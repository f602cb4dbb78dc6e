#pragma once

#include "sotto/strategies/gossip/mixing/choco.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::mixing {

SOTTO_DECL choco::state choco::bind(const layout&) const {
    require_option("mixing::choco", "step", step, detail::allowed::above(0.0).at_most(1.0));
    return {};
}

}  // namespace sotto::mixing
