#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::wire::inline SOTTO_UNIT {

/// Returns the bytes of a dense block of n values.
constexpr std::int64_t encoded_dense_bytes(std::int64_t n, value_format format) noexcept {
    return 1 + n * bytes_per_value(format);
}

/// Appends a block that holds every value of a tensor.
///   wire    | bytes    | content                                                    |
///           | 1        | value format: 0 fp32, 1 fp16, 2 bf16                       |
///           | 4n or 2n | the values, little endian; n is known to both sides        |
///   cost    speed of memory; no allocation when the capacity of `out` suffices
void encode_dense(std::span<const float> values, value_format format, bytes& out);

/// Decodes a dense block of exactly values.size() values.
///   errors  refuses an unknown format and any other length; `values` then stays unchanged
result<std::span<float>> decode_dense(byte_view in, std::span<float> values) noexcept;

/// Decodes values.size() values of a block of n, from place `first` on, so that the caller can use
/// them while they are in a cache.
///   errors  refuses what decode_dense refuses, and a part that is not within the n values
result<std::span<float>> decode_dense_part(byte_view in, std::int64_t n, std::int64_t first,
                                           std::span<float> values) noexcept;

/// Returns the bytes of all n values if this machine stores floats in the same way; else nothing.
///   errors  as decode_dense
result<std::optional<byte_view>> dense_floats(byte_view in, std::int64_t n) noexcept;

}  // namespace sotto::wire::inline SOTTO_UNIT

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/dense_block.ipp"
#endif
