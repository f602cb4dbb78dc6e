#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::wire::inline SOTTO_UNIT {

/// Bytes of a dense block of n values.
constexpr std::int64_t encoded_dense_bytes(std::int64_t n, value_format format) noexcept {
    return 1 + n * bytes_per_value(format);
}

/// Appends a block that holds every value of a tensor.
///   wire    | bytes    | content                                                    |
///           | 1        | value format: 0 fp32, 1 fp16, 2 bf16                       |
///           | 4n or 2n | the values, little endian; n is known to both sides        |
///   cost    speed of memory; no allocation when the capacity of `out` suffices
inline void encode_dense(std::span<const float> values, value_format format, bytes& out) {
    out.push_back(static_cast<std::byte>(format));
    append_values(format, values, out);
}

/// Decodes a dense block of exactly values.size() values.
///   errors  refuses an unknown format and any other length; `values` is then untouched
inline result<std::span<float>> decode_dense(byte_view in, std::span<float> values) noexcept {
    if (in.empty()) return detail::fault{0, "the value format of a dense block", 0};
    const auto format = value_format_of(std::to_integer<std::uint64_t>(in[0]), 0);
    if (!format) return format.why();
    auto read = read_values(*format, in.subspan(1), values);
    if (!read) return detail::fault{1, read.why().expected, read.why().found};
    return read;
}

/// Decodes the values from place `first` on, as many as there is room for, of a block of n, so that
/// they may be used while they are in a cache.
///   errors  refuses what decode_dense refuses, and a part that is not within the n values
inline result<std::span<float>> decode_dense_part(byte_view in, std::int64_t n, std::int64_t first,
                                                  std::span<float> values) noexcept {
    if (in.empty()) return detail::fault{0, "the value format of a dense block", 0};
    const auto format = value_format_of(std::to_integer<std::uint64_t>(in[0]), 0);
    if (!format) return format.why();
    const auto size = static_cast<std::int64_t>(in.size());
    const auto count = static_cast<std::int64_t>(values.size());
    if (size != encoded_dense_bytes(n, *format))
        return detail::fault{1, "bytes for exactly the values asked for", size - 1};
    if (first < 0 || count > n || first > n - count)
        return detail::fault{1, "a part within the block", first};
    const auto width = static_cast<std::size_t>(bytes_per_value(*format));
    return read_values(
        *format, in.subspan(1 + static_cast<std::size_t>(first) * width, values.size() * width),
        values);
}

/// Where all n values of a block lie as this machine has floats; nothing where they do not.
///   errors  as decode_dense
inline result<std::optional<byte_view>> dense_floats(byte_view in, std::int64_t n) noexcept {
    if (in.empty()) return detail::fault{0, "the value format of a dense block", 0};
    const auto format = value_format_of(std::to_integer<std::uint64_t>(in[0]), 0);
    if (!format) return format.why();
    const auto size = static_cast<std::int64_t>(in.size());
    if (size != encoded_dense_bytes(n, *format))
        return detail::fault{1, "bytes for exactly the values asked for", size - 1};
    if (*format != value_format::fp32 || std::endian::native != std::endian::little)
        return std::optional<byte_view>();
    return std::optional<byte_view>(in.subspan(1));
}

}  // namespace sotto::wire::inline SOTTO_UNIT
