#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"

/// Files that a run goes on from after a crash, and models for others to read.
namespace sotto::detail::checkpoint {

/// XXH3-128 of some bytes, most significant byte first. It finds accidents, not forgeries.
using digest = std::array<std::byte, 16>;

/// As 32 digits of base 16, in lower case.
std::string hex(const digest& value);

/// What hex() wrote; nothing for other texts.
std::optional<digest> digest_of_hex(std::string_view text) noexcept;

/// The digest of bytes that are all there.
digest digest_of(byte_view all) noexcept;

/// What a checkpoint ends with.
struct closing_digests {
    digest all{};     // of all bytes before them
    digest header{};  // of the header alone
};
static_assert(sizeof(closing_digests) == 2 * sizeof(digest));

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/digest.ipp"
#endif
