#pragma once

#include <bit>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::wire {

/// A number and its size in bytes.
struct varint {
    std::uint64_t value = 0;  // the number
    std::int64_t bytes = 0;   // bytes that were read
};

inline namespace SOTTO_UNIT {

/// Returns the bytes of a varint: 1 below 2^7, 2 below 2^14, ..., 10 from 2^63.
constexpr std::int64_t varint_bytes(std::uint64_t value) noexcept {
    return (static_cast<std::int64_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Appends a number as a varint.
///   wire    LEB128: seven bits a byte, lowest first; the top bit is 1 if another byte follows
void append_varint(bytes& out, std::uint64_t value);

/// Reads the varint at the front of `in` and ignores the rest.
///   errors  refuses an input that ends inside the number, more than 64 bits, and a number that
///           fewer bytes could hold, so that every number has one encoding
result<varint> read_varint(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/coding/varint.ipp"
#endif
