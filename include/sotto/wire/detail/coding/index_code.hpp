#pragma once

#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/coded_indices.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

/// Appends the code of k strictly increasing indices below n. The receiver knows n and k.
///
/// The encoder computes the exact size of four codes and writes the smallest:
///   run      k neighbours: the first index
///   rice     gaps (elements left out before each entry) as quotient and remainder: few entries
///   classes  gaps as a Huffman code of their size class, and raw bits: any structure, and none
///   bitmap   n bits
///
///   math    Among gaps with a given mean, the geometric distribution of random indices has the
///           largest entropy, and k times that is log2 C(n,k) up to O(log n). The class code takes
///           k times the entropy of the gaps after each class was levelled, plus what Huffman loses
///           to whole bits. Levelling raises the mean by at most 2^-(fine + 1) of it. So for any
///           indices the excess is at most log2(1 + 2^-(fine + 1)) bits an entry: 0.09 for fine =
///           3. Structure only lowers the rest.
///   wire    2 bits mode, then as the mode's header says, zero bits up to a byte; nothing at all if
///           k = 0 or k = n
///   cost    about 2 ns an entry and 0.5 us for the choice (2 us from 1024 entries on); no memory
///           except 20 KB of stack and what `out` needs
///   errors  invalid_option: n above 2^40 (2^32 with 32-bit indices), indices that do not rise or
///           reach n
coded_indices encode_indices(std::int64_t n, std::span<const std::uint32_t> indices, bytes& out);

/// Same for tensors of more than 2^32 elements.
coded_indices encode_indices(std::int64_t n, std::span<const std::uint64_t> indices, bytes& out);

/// Decodes exactly indices.size() indices, strictly increasing and below n, from all of `in`.
///   cost    about 2.6 ns an entry, and 0.6 us for the table of the class code; 10 KB of stack
///   errors  refuses input that ends early or late, leaves [0, n), or violates its mode's rules;
///           the content of `indices` is then unspecified
result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                  std::span<std::uint32_t> indices) noexcept;

/// Same with 64-bit indices, for tensors of up to 2^40 elements.
result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                  std::span<std::uint64_t> indices) noexcept;

/// Returns a bound on the bits of encode_indices for any k indices below n. It never decreases as k
/// grows.
///   math    2 + min(n, 6 + min over b of k (b + 1) + floor((n - k) / 2^b)): the encoder considers
///           the bitmap and Rice's code, and gaps sum to at most n - k. One more entry adds b + 1
///           and subtracts at most 1
std::int64_t index_code_bits_max(std::int64_t n, std::int64_t k) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/coding/index_code.ipp"
#endif
