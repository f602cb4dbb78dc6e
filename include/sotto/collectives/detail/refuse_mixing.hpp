#pragma once

#include <string>

#include "sotto/core/errors.hpp"

namespace sotto::detail::collectives {

/// What another rank sent cannot be mixed; `where`: its first element that is not finite.
[[noreturn]] inline void refuse_mixing(int rank, const std::string& where) {
    throw error(errc::non_finite,
                "what rank " + std::to_string(rank) + " sent to be mixed is not finite: " + where);
}

}  // namespace sotto::detail::collectives
