#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"

/// Checkpoints, from which a run resumes after a crash, and models for other processes to read.
namespace sotto::detail::checkpoint {

/// XXH3-128 of some bytes, most significant byte first. It detects accidents, not forgeries.
using digest = std::array<std::byte, 16>;

/// Returns 32 lower-case hexadecimal digits.
std::string hex(const digest& value);

/// Reads what hex() wrote; returns nothing for other texts.
std::optional<digest> digest_of_hex(std::string_view text) noexcept;

/// Returns the digest of all bytes.
digest digest_of(byte_view all) noexcept;

/// Last bytes of a checkpoint.
struct closing_digests {
    digest all{};     // of all bytes before them
    digest header{};  // of the header only
};
static_assert(sizeof(closing_digests) == 2 * sizeof(digest));

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/digest.ipp"
#endif
