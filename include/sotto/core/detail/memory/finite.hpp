#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sotto/core/config.hpp"

namespace sotto::detail {

template <class Real>
struct real_bits {
    static_assert(std::same_as<Real, float> || std::same_as<Real, double>);
    static_assert(std::numeric_limits<Real>::is_iec559);
    static constexpr bool is_double = std::same_as<Real, double>;
    using word = std::conditional_t<is_double, std::uint64_t, std::uint32_t>;

    static constexpr word infinity = is_double ? word(0x7ffull << 52) : word{0x7f800000};

    // Takes a reference: compilers may assume that a float argument is finite.
    SOTTO_INLINE static constexpr word magnitude(const Real& value) noexcept {
        return std::bit_cast<word>(value) << 1 >> 1;
    }
};

/// True if a number is neither NaN nor infinite. It reads the bits, because -ffast-math replaces
/// std::isfinite by true and compares as if no number were NaN.
template <std::floating_point Real>
SOTTO_INLINE constexpr bool is_finite(const Real& value) noexcept {
    return detail::real_bits<Real>::magnitude(value) < detail::real_bits<Real>::infinity;
}

/// True if the value is NaN. It reads the bits, as is_finite.
template <std::floating_point Real>
SOTTO_INLINE constexpr bool is_nan(const Real& value) noexcept {
    return detail::real_bits<Real>::magnitude(value) > detail::real_bits<Real>::infinity;
}

/// True if the value is infinite, of either sign. It reads the bits, as is_finite.
template <std::floating_point Real>
SOTTO_INLINE constexpr bool is_infinite(const Real& value) noexcept {
    return detail::real_bits<Real>::magnitude(value) == detail::real_bits<Real>::infinity;
}

/// True if the value is 0, of either sign. It reads the bits, as is_finite: under -ffast-math a NaN
/// may equal 0.
template <std::floating_point Real>
SOTTO_INLINE constexpr bool is_zero(const Real& value) noexcept {
    return detail::real_bits<Real>::magnitude(value) == 0;
}

}  // namespace sotto::detail
