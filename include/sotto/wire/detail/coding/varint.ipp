#pragma once

#include "sotto/wire/detail/coding/varint.hpp"

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL void append_varint(bytes& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
}

SOTTO_DECL result<varint> read_varint(byte_view in) noexcept {
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
