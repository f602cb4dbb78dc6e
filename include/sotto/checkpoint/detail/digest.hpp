#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/xxhash.hpp"

/// Files that a run goes on from after a crash, and models for others to read.
namespace sotto::detail::checkpoint {

/// XXH3-128 of some bytes, most significant byte first. It finds accidents, not forgeries.
using digest = std::array<std::byte, 16>;

/// As 32 digits of base 16, in lower case.
inline std::string hex(const digest& value) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::byte b : value) {
        text += digits[std::to_integer<unsigned>(b >> 4)];
        text += digits[std::to_integer<unsigned>(b & std::byte{15})];
    }
    return text;
}

/// What hex() wrote; nothing for other texts.
inline std::optional<digest> digest_of_hex(std::string_view text) noexcept {
    digest value{};
    if (text.size() != 2 * value.size()) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
        if (digit == text.npos) return std::nullopt;
        value[i / 2] = value[i / 2] << 4 | std::byte(digit);
    }
    return value;
}

/// The digest of bytes that come piece by piece: the same as of all of them at once.
class digester {
public:
    /// Of no bytes yet.
    digester() noexcept { XXH3_128bits_reset(&state_); }

    /// Takes the next bytes in.
    digester& update(byte_view piece) noexcept {
        if (!piece.empty()) XXH3_128bits_update(&state_, piece.data(), piece.size());
        return *this;
    }

    /// The digest of all bytes so far; more may follow.
    digest value() const noexcept {
        XXH128_canonical_t canonical;
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_));
        digest out;
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{canonical.digest[i]};
        return out;
    }

private:
    XXH3_state_t state_;
};

/// The digest of bytes that are all there.
inline digest digest_of(byte_view all) noexcept {
    return digester().update(all).value();
}

/// What a checkpoint ends with.
struct closing_digests {
    digest all{};     // of all bytes before them
    digest header{};  // of the header alone
};
static_assert(sizeof(closing_digests) == 2 * sizeof(digest));

}  // namespace sotto::detail::checkpoint
