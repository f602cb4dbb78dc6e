#pragma once

#include "sotto/wire/value_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL result<value_format> value_format_of(std::uint64_t number,
                                                std::int64_t offset) noexcept {
    if (number > 2)
        return detail::fault{offset, "a value format: 0 (fp32), 1 (fp16) or 2 (bf16)",
                             static_cast<std::int64_t>(number)};
    return static_cast<value_format>(number);
}

SOTTO_DECL std::int64_t first_beyond(value_format format, std::span<const float> values) noexcept {
    if (format == value_format::fp32) return -1;
    using bits = sotto::detail::real_bits<float>;
    // Values round up to infinity from half a unit in the last place above the largest number on.
    const bits::word least = bits::magnitude(format == value_format::fp16 ? 65520.0f : 0x1.ffp127f);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const bits::word magnitude = bits::magnitude(values[i]);
        if (magnitude >= least && magnitude < bits::infinity) return static_cast<std::int64_t>(i);
    }
    return -1;
}

SOTTO_DECL std::string range_hint(value_format format) {
    if (format != value_format::fp16) return {};
    return "; values travel in fp16, which holds at most 65504: use bf16{} or none{}, or scale the "
           "loss down";
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire

namespace sotto::detail::wire::inline SOTTO_UNIT {

// Halves pass through a buffer that fits the L1 cache: bytes on the wire have no alignment.
inline constexpr std::size_t value_chunk = 1024;

/// Requires at most value_chunk values.
inline void write_halves(sotto::wire::value_format format, std::span<const float> values,
                         std::byte* to) noexcept {
    std::array<std::uint16_t, value_chunk> buffer;
    const auto halves = std::span(buffer).first(values.size());
    if (format == sotto::wire::value_format::fp16)
        kernels::round_to_fp16(values, halves);
    else
        kernels::round_to_bf16(values, halves);
    store_little_endian<std::uint16_t>(to, halves);
}

/// Requires at most value_chunk values.
inline void read_halves(sotto::wire::value_format format, const std::byte* from,
                        std::span<float> values) noexcept {
    std::array<std::uint16_t, value_chunk> buffer;
    const auto halves = std::span(buffer).first(values.size());
    load_little_endian<std::uint16_t>(from, halves);
    if (format == sotto::wire::value_format::fp16)
        kernels::widen_from_fp16(halves, values);
    else
        kernels::widen_from_bf16(halves, values);
}

inline void write_words(std::span<const float> values, std::byte* to) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
    } else {
        for (std::size_t i = 0; i < values.size(); ++i)
            store_little_endian(to + 4 * i, std::bit_cast<std::uint32_t>(values[i]));
    }
}

inline void read_words(const std::byte* from, std::span<float> values) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (!values.empty()) std::memcpy(values.data(), from, values.size_bytes());
    } else {
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::bit_cast<float>(load_little_endian<std::uint32_t>(from + 4 * i));
    }
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT

namespace sotto::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL void append_values(value_format format, std::span<const float> values, bytes& out) {
    const auto width = static_cast<std::size_t>(bytes_per_value(format));
    const std::size_t size = out.size() + values.size() * width;
    if (size > out.capacity()) out.reserve((std::max)(size, 2 * out.capacity()));
    // Resizes part by part: a resize writes zeros, which are still in the L1 cache when the values
    // replace them.
    for (std::size_t i = 0; i < values.size(); i += detail::wire::value_chunk) {
        const auto part =
            values.subspan(i, (std::min)(detail::wire::value_chunk, values.size() - i));
        const std::size_t start = out.size();
        out.resize(start + part.size() * width);
        if (format == value_format::fp32)
            detail::wire::write_words(part, out.data() + start);
        else
            detail::wire::write_halves(format, part, out.data() + start);
    }
}

SOTTO_DECL result<std::span<float>> read_values(value_format format, byte_view in,
                                                std::span<float> values) noexcept {
    const auto width = static_cast<std::size_t>(bytes_per_value(format));
    if (in.size() % width != 0 || in.size() / width != values.size())
        return detail::fault{0, "bytes for exactly the values asked for",
                             static_cast<std::int64_t>(in.size())};
    if (format == value_format::fp32) {
        detail::wire::read_words(in.data(), values);
        return values;
    }
    for (std::size_t i = 0; i < values.size(); i += detail::wire::value_chunk)
        detail::wire::read_halves(
            format, in.data() + i * width,
            values.subspan(i, (std::min)(detail::wire::value_chunk, values.size() - i)));
    return values;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire
