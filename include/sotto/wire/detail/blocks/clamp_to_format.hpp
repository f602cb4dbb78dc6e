#pragma once

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Returns the value that the receiver sees if a value may be sent in part. Beyond the format's
/// range it is the largest number of the format, and the sender keeps the rest.
constexpr float clamp_to_format(value_format format, float value) noexcept {
    if (format == value_format::fp32) return value;
    const float most = largest_of(format);
    return rounded(format, std::clamp(value, -most, most));
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
