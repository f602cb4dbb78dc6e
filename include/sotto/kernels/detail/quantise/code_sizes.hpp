#pragma once

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Returns the number of scales of `values` values.
constexpr std::size_t blocks_of(std::size_t values, std::size_t block) noexcept {
    return values / block + (values % block != 0 ? 1 : 0);
}

/// Returns the bytes of this many codes of `bits` bits each, rounded up.
constexpr std::size_t bytes_of_codes(std::size_t values, std::size_t bits) noexcept {
    return values / 8 * bits + (values % 8 * bits + 7) / 8;
}

/// Returns the bytes of the signs of this many values.
constexpr std::size_t bytes_of_signs(std::size_t values) noexcept {
    return values / 8 + (values % 8 != 0 ? 1 : 0);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
