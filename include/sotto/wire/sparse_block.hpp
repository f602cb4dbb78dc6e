#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/coded_indices.hpp"
#include "sotto/wire/detail/coding/varint.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

/// Entries of a decoded block: strictly increasing indices below n, and as many values.
template <std::unsigned_integral Index>
struct sparse_entries {
    std::span<const Index> indices;  // below n
    std::span<const float> values;   // one for each index
};

/// Head of a sparse block.
struct sparse_head {
    std::int64_t entries = 0;                  // number of entries that follow
    value_format format = value_format::fp32;  // format of each value
    std::int64_t bytes = 0;                    // bytes of the head itself
};

}  // namespace sotto::detail::wire

namespace sotto::wire {

inline namespace SOTTO_UNIT {

/// Reads only the head of a sparse block: its number of entries and their format.
result<detail::wire::sparse_head> peek_sparse(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Places of the parts of a block.
struct sparse_parts {
    sparse_head head;
    std::size_t entries = 0;
    byte_view indices, values;
};

result<sparse_parts> split_sparse(byte_view in, std::int64_t n, std::size_t room) noexcept;

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

namespace sotto::wire {

inline namespace SOTTO_UNIT {

/// Appends a block of k entries of a tensor of n elements. The indices rise strictly and are below
/// n. Values are rounded to the format; the receiver sees rounded(format, value).
///   wire    | bytes    | content                                                              |
///           | 1 to 7   | varint of 4 k + value format (0 fp32, 1 fp16, 2 bf16)                |
///           | the rest | index code of k indices below n (index_code.hpp)                     |
///           | 4k or 2k | the values in the order of the indices, little endian                |
///           The receiver knows n and the block's length, so the block contains neither: 1 entry of
///           10^6 in fp32 is 8 bytes
///   cost    about 2.2 ns an entry and 0.5 us, or 2 us from 1024 entries on; no allocation if `out`
///           has encoded_sparse_bytes_max to spare
///   errors  invalid_option: different sizes, or indices that encode_indices refuses; `out` then
///           stays unchanged
detail::wire::coded_indices encode_sparse(std::int64_t n, std::span<const std::uint32_t> indices,
                                          std::span<const float> values, value_format format,
                                          bytes& out);

/// Same for tensors of more than 2^32 elements.
detail::wire::coded_indices encode_sparse(std::int64_t n, std::span<const std::uint64_t> indices,
                                          std::span<const float> values, value_format format,
                                          bytes& out);

/// Decodes a block that fills `in` into the front of two spans, which may be longer than the block.
///   cost    about 2.7 ns an entry and at most 0.6 us; no memory except 10 KB of stack
///   errors  refuses blocks that are too short or too long, have indices that are unsorted,
///           repeated, out of range or more than the spans hold, or violate the rules of the mode
///           in their header. A block may be longer than encode_sparse would write it. All or
///           nothing: after a refusal the content of the two spans is unspecified and must not be
///           used
result<detail::wire::sparse_entries<std::uint32_t>> decode_sparse(byte_view in, std::int64_t n,
                                                                  std::span<std::uint32_t> indices,
                                                                  std::span<float> values) noexcept;

/// Same with 64-bit indices, for tensors of up to 2^40 elements.
result<detail::wire::sparse_entries<std::uint64_t>> decode_sparse(byte_view in, std::int64_t n,
                                                                  std::span<std::uint64_t> indices,
                                                                  std::span<float> values) noexcept;

/// Returns a bound on the bytes of a block of at most k of n entries; proven in
/// index_code_bits_max.
std::int64_t encoded_sparse_bytes_max(std::int64_t n, std::int64_t k, value_format format) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/sparse_block.ipp"
#endif
