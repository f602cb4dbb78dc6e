#pragma once

#include "sotto/trainer/detail/located.hpp"

#include <charconv>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail {

SOTTO_DECL std::string step_place::text() const {
    return " (step " + std::to_string(step) + ", epoch " + std::to_string(epoch) + ", last loss " +
           loss() + ")";
}

SOTTO_DECL std::string step_place::loss() const {
    if (!last_loss) return "none yet";
    if (!kernels::is_finite(*last_loss)) return "not finite";
    char digits[32];
    return {digits,
            std::to_chars(digits, digits + sizeof digits, *last_loss, std::chars_format::general, 4)
                .ptr};
}

}  // namespace sotto::detail
