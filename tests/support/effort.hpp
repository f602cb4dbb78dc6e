#pragma once

#include "sotto/core/config.hpp"

namespace sotto::testing {

#if defined(SOTTO_SANITIZED)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

/// How often something is tried: a sanitizer finds what it finds in fewer tries, each of which
/// takes ten times as long.
template <class Int>
constexpr Int tries(Int usually, Int sanitized) noexcept {
    return is_sanitized ? sanitized : usually;
}

}  // namespace sotto::testing
