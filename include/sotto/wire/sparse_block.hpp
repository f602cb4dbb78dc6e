#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/index_code.hpp"
#include "sotto/wire/value_format.hpp"
#include "sotto/wire/detail/coding/varint.hpp"

namespace sotto::detail::wire {

/// The entries of a decoded block: strictly increasing indices below n, and as many values.
template <std::unsigned_integral Index>
struct sparse_entries {
    std::span<const Index> indices;  // below n
    std::span<const float> values;   // one for each
};

/// What the head of a sparse block says.
struct sparse_head {
    std::int64_t entries = 0;                  // that follow
    value_format format = value_format::fp32;  // of each value
    std::int64_t bytes = 0;                    // of the head itself
};

}  // namespace sotto::detail::wire

namespace sotto::detail::wire::inline SOTTO_UNIT {

template <std::unsigned_integral Index>
coded_indices encode_sparse(std::int64_t n, std::span<const Index> indices,
                            std::span<const float> values, value_format format, bytes& out) {
    if (indices.size() != values.size())
        throw invalid_option("encode_sparse: " + std::to_string(indices.size()) + " indices for " +
                             std::to_string(values.size()) + " values; they come in pairs");
    const index_plan plan = plan_of(n, indices);
    append_varint(out, std::uint64_t{indices.size()} << 2 | static_cast<std::uint64_t>(format));
    write_indices(plan, n, indices, out);
    append_values(format, values, out);
    return plan.best;
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

namespace sotto::wire {
inline namespace SOTTO_UNIT {

/// Reads the head of a sparse block and nothing else: how many entries it claims, in what format.
inline result<detail::wire::sparse_head> peek_sparse(byte_view in) noexcept {
    const auto head = detail::wire::read_varint(in);
    if (!head) return head.why();
    const auto format = value_format_of(head->value & 3, 0);
    if (!format) return format.why();
    return detail::wire::sparse_head{static_cast<std::int64_t>(head->value >> 2), *format,
                                     head->bytes};
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::wire

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Where the parts of a block are.
struct sparse_parts {
    sparse_head head;
    std::size_t entries = 0;
    byte_view indices, values;
};

inline result<sparse_parts> split_sparse(byte_view in, std::int64_t n, std::size_t room) noexcept {
    const auto head = sotto::wire::peek_sparse(in);
    if (!head) return head.why();
    const std::int64_t k = head->entries;
    const auto count = static_cast<std::size_t>(k);
    if (k > n) return fault{0, "at most as many entries as elements", k};
    if (count > room) return fault{0, "at most as many entries as there is room for", k};

    const byte_view body = in.subspan(static_cast<std::size_t>(head->bytes));
    const std::size_t value_bytes = count * static_cast<std::size_t>(bytes_per_value(head->format));
    if (value_bytes > body.size())
        return fault{head->bytes, "a value for every entry",
                     static_cast<std::int64_t>(body.size())};
    return sparse_parts{*head, count, body.first(body.size() - value_bytes),
                        body.last(value_bytes)};
}

template <std::unsigned_integral Index>
result<sparse_entries<Index>> decode_sparse(byte_view in, std::int64_t n, std::span<Index> indices,
                                            std::span<float> values) noexcept {
    const auto parts = split_sparse(in, n, (std::min)(indices.size(), values.size()));
    if (!parts) return parts.why();
    const auto at = indices.first(parts->entries);
    const auto to = values.first(parts->entries);
    const auto mode = decode_indices(n, parts->indices, at);
    if (!mode)
        return fault{parts->head.bytes + mode.why().offset, mode.why().expected, mode.why().found};
    const auto read = read_values(parts->head.format, parts->values, to);
    if (!read) return read.why();
    return sparse_entries<Index>{at, to};
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

namespace sotto::wire {
inline namespace SOTTO_UNIT {

/// Appends a block of k entries of a tensor of n elements: the indices rise strictly and are below
/// n. Values are rounded to the format; what the receiver sees is rounded(format, value).
///   wire    | bytes    | content                                                              |
///           | 1 to 7   | varint of 4 k + value format (0 fp32, 1 fp16, 2 bf16)                |
///           | the rest | index code of k indices below n (index_code.hpp)                     |
///           | 4k or 2k | the values in the order of the indices, little endian                |
///           The receiver knows n and the block's length, so neither is in it: 1 entry of 10^6 in
///           fp32 is 8 bytes
///   cost    about 2.2 ns an entry and 0.5 us, or 2 us from 1024 entries on; no allocation if
///           `out` has encoded_sparse_bytes_max to spare
///   errors  invalid_option: sizes that differ, what encode_indices refuses; `out` is untouched
inline detail::wire::coded_indices encode_sparse(std::int64_t n,
                                                 std::span<const std::uint32_t> indices,
                                                 std::span<const float> values, value_format format,
                                                 bytes& out) {
    return detail::wire::encode_sparse(n, indices, values, format, out);
}

/// The same for tensors of more than 2^32 elements.
inline detail::wire::coded_indices encode_sparse(std::int64_t n,
                                                 std::span<const std::uint64_t> indices,
                                                 std::span<const float> values, value_format format,
                                                 bytes& out) {
    return detail::wire::encode_sparse(n, indices, values, format, out);
}

/// Decodes a block that fills `in` into the front of two spans, which may be longer than the block.
///   cost    about 2.7 ns an entry and at most 0.6 us; no memory but 10 KB of stack
///   errors  refuses what is too short, too long, unsorted, repeated, out of range, more than the
///           spans hold, or against the rules of the mode that its header names. A block may be
///           longer than encode_sparse would have written it. All or nothing: what a refused block
///           leaves in the two spans is unspecified and must not be used
inline result<detail::wire::sparse_entries<std::uint32_t>> decode_sparse(
    byte_view in, std::int64_t n, std::span<std::uint32_t> indices,
    std::span<float> values) noexcept {
    return detail::wire::decode_sparse(in, n, indices, values);
}

/// The same into indices of 64 bits, for tensors of up to 2^40 elements.
inline result<detail::wire::sparse_entries<std::uint64_t>> decode_sparse(
    byte_view in, std::int64_t n, std::span<std::uint64_t> indices,
    std::span<float> values) noexcept {
    return detail::wire::decode_sparse(in, n, indices, values);
}

/// A bound on the bytes of a block of at most k of n entries; proven in index_code_bits_max.
constexpr std::int64_t encoded_sparse_bytes_max(std::int64_t n, std::int64_t k,
                                                value_format format) noexcept {
    return detail::wire::varint_bytes(static_cast<std::uint64_t>(k) << 2 | 3) +
           (detail::wire::index_code_bits_max(n, k) + 7) / 8 + k * bytes_per_value(format);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire
