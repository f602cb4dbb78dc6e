#pragma once

#include "sotto/transports/run_simulated.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void simulated_run::require_success() const {
    if (first_to_throw >= 0)
        std::rethrow_exception(ranks[static_cast<std::size_t>(first_to_throw)].thrown);
}

}  // namespace sotto::detail
