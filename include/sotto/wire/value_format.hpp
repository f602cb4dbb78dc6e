#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

/// Formats of bytes on the wire. Readers bound every length before they use it.
namespace sotto::wire {

/// Format of a value on the wire. The numbers are part of the wire format.
///   fp32  four bytes, a float
///   fp16  two bytes, IEEE 754 half precision
///   bf16  two bytes, the upper half of a float
enum class value_format : std::uint8_t { fp32 = 0, fp16 = 1, bf16 = 2 };

inline namespace SOTTO_UNIT {

/// Returns the name in options: "fp32", "fp16" or "bf16".
constexpr std::string_view name_of(value_format format) noexcept {
    return format == value_format::fp32 ? "fp32" : format == value_format::fp16 ? "fp16" : "bf16";
}

/// Returns 4 or 2.
constexpr std::int64_t bytes_per_value(value_format format) noexcept {
    return format == value_format::fp32 ? 4 : 2;
}

/// Returns the format with a number from the wire; refuses unknown numbers. `offset` is that of the
/// fault.
result<value_format> value_format_of(std::uint64_t number, std::int64_t offset) noexcept;

/// Returns the float that the receiver sees for this value.
constexpr float rounded(value_format format, float value) noexcept {
    switch (format) {
        case value_format::fp32: break;
        case value_format::fp16: return detail::kernels::from_fp16(detail::kernels::to_fp16(value));
        case value_format::bf16: return detail::kernels::from_bf16(detail::kernels::to_bf16(value));
    }
    return value;
}

/// Returns the largest finite number of a format.
constexpr float largest_of(value_format format) noexcept {
    return format == value_format::fp32   ? (std::numeric_limits<float>::max)()
           : format == value_format::fp16 ? 65504.0f
                                          : 0x1.fep127f;
}

/// Returns the index of the first finite value that a format rounds to infinity; -1 if there is
/// none. It reads the bits, as is_finite.
std::int64_t first_beyond(value_format format, std::span<const float> values) noexcept;

/// Returns the end of an error about sums that are not finite: how the format on the wire may be
/// the cause. Empty if the format has the range of a float.
std::string range_hint(value_format format);

/// Appends values in a format.
///   wire    values one after another, each little endian; no header
///   cost    speed of memory; no allocation if the capacity of `out` suffices
void append_values(value_format format, std::span<const float> values, bytes& out);

/// Reads values.size() values.
///   errors  refuses an input that does not have exactly that length; `values` then stays unchanged
result<std::span<float>> read_values(value_format format, byte_view in,
                                     std::span<float> values) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire

namespace sotto::detail::wire {
using sotto::wire::value_format;
}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/value_format.ipp"
#endif
