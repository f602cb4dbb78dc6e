#pragma once

#include "sotto/wire/dense_block.hpp"

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

SOTTO_DECL void encode_dense(std::span<const float> values, value_format format, bytes& out) {
    out.push_back(static_cast<std::byte>(format));
    append_values(format, values, out);
}

SOTTO_DECL result<std::span<float>> decode_dense(byte_view in, std::span<float> values) noexcept {
    if (in.empty()) return detail::fault{0, "the value format of a dense block", 0};
    const auto format = value_format_of(std::to_integer<std::uint64_t>(in[0]), 0);
    if (!format) return format.why();
    auto read = read_values(*format, in.subspan(1), values);
    if (!read) return detail::fault{1, read.why().expected, read.why().found};
    return read;
}

SOTTO_DECL result<std::span<float>> decode_dense_part(byte_view in, std::int64_t n,
                                                      std::int64_t first,
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

SOTTO_DECL result<std::optional<byte_view>> dense_floats(byte_view in, std::int64_t n) noexcept {
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
