#pragma once

#include <bit>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

// Magnitudes are compared as the bits of a float without its sign, which have the same order.
// Denormals count in every processor mode, and every NaN is above infinity.

constexpr std::uint32_t magnitude_bits = 0x7FFFFFFF;
constexpr std::uint32_t infinity_bits = 0x7F800000;

constexpr std::uint32_t magnitude_of(float value) noexcept {
    return std::bit_cast<std::uint32_t>(value) & magnitude_bits;
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
