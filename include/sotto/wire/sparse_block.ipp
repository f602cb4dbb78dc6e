#pragma once

#include "sotto/wire/sparse_block.hpp"

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
#include "sotto/wire/detail/coding/index_plan.hpp"
#include "sotto/wire/detail/coding/varint.hpp"
#include "sotto/wire/value_format.hpp"

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

SOTTO_DECL result<detail::wire::sparse_head> peek_sparse(byte_view in) noexcept {
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

SOTTO_DECL result<sparse_parts> split_sparse(byte_view in, std::int64_t n,
                                             std::size_t room) noexcept {
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

SOTTO_DECL detail::wire::coded_indices encode_sparse(std::int64_t n,
                                                     std::span<const std::uint32_t> indices,
                                                     std::span<const float> values,
                                                     value_format format, bytes& out) {
    return detail::wire::encode_sparse(n, indices, values, format, out);
}

SOTTO_DECL detail::wire::coded_indices encode_sparse(std::int64_t n,
                                                     std::span<const std::uint64_t> indices,
                                                     std::span<const float> values,
                                                     value_format format, bytes& out) {
    return detail::wire::encode_sparse(n, indices, values, format, out);
}

SOTTO_DECL result<detail::wire::sparse_entries<std::uint32_t>> decode_sparse(
    byte_view in, std::int64_t n, std::span<std::uint32_t> indices,
    std::span<float> values) noexcept {
    return detail::wire::decode_sparse(in, n, indices, values);
}

SOTTO_DECL result<detail::wire::sparse_entries<std::uint64_t>> decode_sparse(
    byte_view in, std::int64_t n, std::span<std::uint64_t> indices,
    std::span<float> values) noexcept {
    return detail::wire::decode_sparse(in, n, indices, values);
}

SOTTO_DECL std::int64_t encoded_sparse_bytes_max(std::int64_t n, std::int64_t k,
                                                 value_format format) noexcept {
    return detail::wire::varint_bytes(static_cast<std::uint64_t>(k) << 2 | 3) +
           (detail::wire::index_code_bits_max(n, k) + 7) / 8 + k * bytes_per_value(format);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire
