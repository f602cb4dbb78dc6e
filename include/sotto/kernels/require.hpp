#pragma once

#include <cstddef>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::kernels::inline SOTTO_UNIT {

/// Refuses a call that would read or write beyond its arrays. It stays on in every build: it costs
/// one comparison a call.
///   errors  invalid_option, which names the function and what it asks for
inline void require(bool holds, const char* function, const char* expected) {
    if (holds) [[likely]]
        return;
    throw invalid_option(std::string(function) + ": " + expected);
}

}  // namespace sotto::kernels::inline SOTTO_UNIT
