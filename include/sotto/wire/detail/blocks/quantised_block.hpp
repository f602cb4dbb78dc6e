#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

/// How a tensor's values become codes: known to both sides.
struct quantised_shape {
    std::int64_t size = 0;      // values
    std::int64_t bucket = 512;  // values that share a scale
    int bits = 4;               // of a code: 2, 4 or 8
};

/// What a quantised block says: value i is code / (2^(bits-1) - 1) * the scale of its bucket.
struct quantised_block {
    std::span<const float> scales{};        // one for each bucket
    std::span<const std::uint8_t> codes{};  // as kernels::dequantise takes them
};

inline namespace SOTTO_UNIT {

/// Buckets of a tensor, the last of which may be shorter.
constexpr std::int64_t buckets_of(const quantised_shape& shape) noexcept {
    return static_cast<std::int64_t>(kernels::blocks_of(static_cast<std::size_t>(shape.size),
                                                        static_cast<std::size_t>(shape.bucket)));
}

/// Bytes of all codes of a tensor.
constexpr std::int64_t code_bytes_of(const quantised_shape& shape) noexcept {
    return static_cast<std::int64_t>(kernels::bytes_of_codes(static_cast<std::size_t>(shape.size),
                                                             static_cast<std::size_t>(shape.bits)));
}

/// Bytes of a quantised block.
constexpr std::int64_t encoded_quantised_bytes(const quantised_shape& shape) noexcept {
    return 1 + code_bytes_of(shape) + 4 * buckets_of(shape);
}

/// Appends a block. `quantise(scales, codes)` writes the scales of all buckets and the codes, as
/// kernels::quantise does; `scales` is room for them.
///   wire    | bytes    | content                                                                 |
///           | 1        | bits of a code: 2, 4 or 8                                               |
///           | codes    | two's complement without the lowest one, the first in the lowest bits   |
///           |          | of the first byte; the last byte is filled up with zeros                |
///           | 4 each   | the buckets' scales, floats, little endian: finite, without a sign bit  |
///           Size and bucket are known to both sides
///   cost    that of quantise; no allocation when the capacity of `out` suffices
template <class Quantise>
void encode_quantised(const quantised_shape& shape, std::span<float> scales, bytes& out,
                      Quantise&& quantise) {
    out.push_back(static_cast<std::byte>(shape.bits));
    const std::size_t start = out.size();
    const auto count = static_cast<std::size_t>(code_bytes_of(shape));
    out.resize(start + count);
    quantise(scales, std::span(reinterpret_cast<std::uint8_t*>(out.data() + start), count));
    append_values(value_format::fp32, scales, out);
}

/// Reads a block; its scales go to the front of `scales`, its codes stay where they are.
///   errors  refuses another length or width, less room than there are buckets, a scale that is
///           negative or not finite, the lowest code, and bits behind the last one, so that every
///           block has one spelling and says nothing beyond its scales
result<quantised_block> decode_quantised(byte_view in, const quantised_shape& shape,
                                         std::span<float> scales) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/blocks/quantised_block.ipp"
#endif
