#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/coding/index_code.hpp"
#include "sotto/wire/detail/coding/varint.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

/// Head of a codebook block.
struct codebook_head {
    std::int64_t entries = 0;  // number of entries that follow
    int words = 0;             // number of different values
    std::int64_t bytes = 0;    // bytes of the head itself
};

inline namespace SOTTO_UNIT {

/// Returns the bits of a code that selects one of `words` values.
constexpr int bits_of_word(int words) noexcept {
    return words < 2 ? 0 : words == 2 ? 1 : 2;
}

constexpr std::int64_t codebook_code_bytes(std::int64_t entries, int words) noexcept {
    return (entries * bits_of_word(words) + 7) / 8;
}

/// Most values of a codebook.
inline constexpr int codebook_words_max = 4;

/// Reads only the head of a codebook block.
result<codebook_head> peek_codebook(byte_view in) noexcept;

/// Appends a block of k entries, with at most four different values, of a tensor of n elements. The
/// indices rise strictly and are below n; entry j has the value codebook[codes[j]].
///   wire    | bytes    | content                                                              |
///           | 1 to 6   | varint of 8 k + w, the number of different values, 0 to 4            |
///           | 4 w      | these values, rising strictly, floats, little endian: finite         |
///           | the rest | index code of k indices below n (index_code.hpp)                     |
///           | bk/8, up | k codes of b bits, the first in the lowest bits of the first byte,   |
///           |          | the last byte padded with zeros: b = 0, 1, 2, 2 for w = 1 to 4       |
///           The receiver knows n and the block's length. 64 random entries of 4,096 take about
///           7.5 bits each for their place and 2 for their value: 95 bytes. Places of 12 bits and a
///           table would take 130
///   cost    about 3 ns an entry; no allocation if `out` has encoded_codebook_bytes_max to spare
///   errors  invalid_option: different sizes; a codebook that is too long, does not rise, or has a
///           value that no entry has; a code without a value; indices that encode_indices refuses.
///           `out` then stays unchanged
void encode_codebook(std::int64_t n, std::span<const std::uint32_t> indices,
                     std::span<const std::uint8_t> codes, std::span<const float> codebook,
                     bytes& out);

/// Decodes a block that fills `in` into the front of two spans, which may be longer than the block.
///   cost    about 4 ns an entry and at most 0.6 us; no memory except 10 KB of stack
///   errors  refuses indices that are unsorted, repeated, out of range or more than the spans hold;
///           a block that is too short or too long; a codebook that does not rise, is not finite,
///           or has a value that no entry has; a code without a value, and bits after the last
///           code. After a refusal the content of the two spans must not be used
result<sparse_entries<std::uint32_t>> decode_codebook(byte_view in, std::int64_t n,
                                                      std::span<std::uint32_t> indices,
                                                      std::span<float> values) noexcept;

/// Returns a bound on the bytes of a block of at most k of n entries.
std::int64_t encoded_codebook_bytes_max(std::int64_t n, std::int64_t k) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/blocks/codebook_block.ipp"
#endif
