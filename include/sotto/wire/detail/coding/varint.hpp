#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::wire {

/// A number and how many bytes it took.
struct varint {
    std::uint64_t value = 0;  // the number
    std::int64_t bytes = 0;   // read for it
};

inline namespace SOTTO_UNIT {

/// Bytes that a varint takes: 1 below 2^7, 2 below 2^14, ..., 10 from 2^63.
constexpr std::int64_t varint_bytes(std::uint64_t value) noexcept {
    return (static_cast<std::int64_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Appends a number as a varint.
///   wire    LEB128: seven bits a byte, lowest first; the top bit says that another byte follows
inline void append_varint(bytes& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
}

/// Reads the varint at the front of `in`; what follows it is not looked at.
///   errors  refuses an input that ends inside the number, more than 64 bits, and a number that
///           could have been written in fewer bytes, so that every number has one spelling
inline result<varint> read_varint(byte_view in) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto byte = std::to_integer<std::uint64_t>(in[i]);
        const auto at = static_cast<std::int64_t>(i);
        if (i == 9 && byte > 1)
            return fault{at, "a varint of at most 64 bits", static_cast<std::int64_t>(byte)};
        value |= (byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            if (byte == 0 && i > 0) return fault{at, "a varint without leading zeros", 0};
            return varint{value, at + 1};
        }
    }
    const auto size = static_cast<std::int64_t>(in.size());
    return fault{size, "a whole varint", size};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
