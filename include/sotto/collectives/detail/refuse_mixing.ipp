#pragma once

#include "sotto/collectives/detail/refuse_mixing.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL void refuse_mixing(int rank, const std::string& where) {
    throw error(errc::non_finite,
                "what rank " + std::to_string(rank) + " sent to be mixed is not finite: " + where);
}

}  // namespace sotto::detail::collectives
