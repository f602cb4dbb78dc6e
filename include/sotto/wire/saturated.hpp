#pragma once

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::wire::inline SOTTO_UNIT {

/// What the receiver will see of a value that may be sent in part: beyond the format's range it is
/// the largest number there, and the sender keeps the rest.
constexpr float saturated(value_format format, float value) noexcept {
    constexpr float fp16_max = 65504.0f, bf16_max = 0x1.fep127f;
    switch (format) {
        case value_format::fp32: break;
        case value_format::fp16: return rounded(format, std::clamp(value, -fp16_max, fp16_max));
        case value_format::bf16: return rounded(format, std::clamp(value, -bf16_max, bf16_max));
    }
    return value;
}

}  // namespace sotto::wire::inline SOTTO_UNIT
