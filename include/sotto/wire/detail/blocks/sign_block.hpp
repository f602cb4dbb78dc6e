#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/code_sizes.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// Content of a sign block: every value is `magnitude`, negated if its bit is 1.
struct sign_block {
    float magnitude = 0.0f;                 // at least 0
    std::span<const std::uint8_t> signs{};  // packed by kernels::pack_signs
};

inline namespace SOTTO_UNIT {

/// Returns the bytes of a sign block of n values.
constexpr std::int64_t encoded_sign_bytes(std::int64_t n) noexcept {
    return 4 + static_cast<std::int64_t>(kernels::bytes_of_signs(static_cast<std::size_t>(n)));
}

/// Appends the signs of values and the mean of their magnitudes. Returns the mean.
///   wire    | bytes    | content                                                                 |
///           | 4        | the magnitude, a float, little endian: finite and without a sign bit    |
///           | n/8, up  | one bit a value, 1 for negative: bit i % 8 of byte i / 8; the last byte |
///           |          | is padded with zeros. Both sides know n                                 |
///   cost    speed of memory; no allocation if the capacity of `out` suffices
///   errors  the caller checks that values are finite; otherwise the magnitude is not
float encode_signs(std::span<const float> values, bytes& out);

/// Reads a sign block of exactly n values. The signs stay in `in`.
///   errors  refuses another length, a magnitude that is negative or not finite, and bits after the
///           last value, so that every block has one encoding
result<sign_block> decode_signs(byte_view in, std::int64_t n) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/blocks/sign_block.ipp"
#endif
