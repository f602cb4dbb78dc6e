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

/// How values of a tensor become codes. Sender and receiver know it.
struct quantised_shape {
    std::int64_t size = 0;      // number of values
    std::int64_t bucket = 512;  // number of values that share a scale
    int bits = 4;               // bits of a code: 2, 4 or 8
};

/// Content of a quantised block: value i is code / (2^(bits-1) - 1) * the scale of its bucket.
struct quantised_block {
    std::span<const float> scales{};        // one for each bucket
    std::span<const std::uint8_t> codes{};  // packed as kernels::dequantise reads them
};

inline namespace SOTTO_UNIT {

/// Returns the number of buckets of a tensor; the last may be shorter.
constexpr std::int64_t buckets_of(const quantised_shape& shape) noexcept {
    return static_cast<std::int64_t>(kernels::blocks_of(static_cast<std::size_t>(shape.size),
                                                        static_cast<std::size_t>(shape.bucket)));
}

/// Returns the bytes of all codes of a tensor.
constexpr std::int64_t code_bytes_of(const quantised_shape& shape) noexcept {
    return static_cast<std::int64_t>(kernels::bytes_of_codes(static_cast<std::size_t>(shape.size),
                                                             static_cast<std::size_t>(shape.bits)));
}

/// Returns the bytes of a quantised block.
constexpr std::int64_t encoded_quantised_bytes(const quantised_shape& shape) noexcept {
    return 1 + code_bytes_of(shape) + 4 * buckets_of(shape);
}

/// Appends a block. `quantise(scales, codes)` writes the scales of all buckets and the codes, as
/// kernels::quantise does; `scales` is memory for them.
///   wire    | bytes    | content                                                                 |
///           | 1        | bits of a code: 2, 4 or 8                                               |
///           | codes    | two's complement without the lowest value, the first code in the lowest |
///           |          | bits of the first byte; the last byte is padded with zeros              |
///           | 4 each   | the buckets' scales, floats, little endian: finite, without a sign bit  |
///           Both sides know size and bucket
///   cost    as quantise; no allocation if the capacity of `out` suffices
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

/// Reads a block. Writes its scales to the front of `scales`; its codes stay in `in`.
///   errors  refuses another length or width, fewer places in `scales` than buckets, a scale that
///           is negative or not finite, the lowest code, and bits after the last code. So every
///           block has one encoding, and no value exceeds its scale
result<quantised_block> decode_quantised(byte_view in, const quantised_shape& shape,
                                         std::span<float> scales) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/blocks/quantised_block.ipp"
#endif
