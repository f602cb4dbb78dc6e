#pragma once

#include "sotto/checkpoint/detail/digest.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/xxhash.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string hex(const digest& value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte b : value) {
        text += digits[std::to_integer<unsigned>(b >> 4)];
        text += digits[std::to_integer<unsigned>(b & std::byte{15})];
    }
    return text;
}

SOTTO_DECL std::optional<digest> digest_of_hex(std::string_view text) noexcept {
    digest value{};
    if (text.size() != 2 * value.size()) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
        if (digit == text.npos) return std::nullopt;
        value[i / 2] = value[i / 2] << 4 | std::byte(digit);
    }
    return value;
}

SOTTO_DECL digest digest_of(byte_view all) noexcept {
    return sotto::detail::canonical_bytes(XXH3_128bits(all.data(), all.size()));
}

}  // namespace sotto::detail::checkpoint
