#pragma once

#include "sotto/wire/detail/blocks/codebook_block.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/coding/index_code.hpp"
#include "sotto/wire/detail/coding/index_plan.hpp"
#include "sotto/wire/detail/coding/varint.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

/// Packs codes, the first in the lowest bits of the first byte.
inline void append_codes(int bits, std::span<const std::uint8_t> codes, bytes& out) {
    if (bits == 0) return;
    const std::size_t start = out.size(), in_a_byte = 8 / static_cast<std::size_t>(bits);
    out.resize(start + (codes.size() + in_a_byte - 1) / in_a_byte);
    for (std::size_t i = 0; i < codes.size(); ++i) {
        const auto place = static_cast<unsigned>(i % in_a_byte) * static_cast<unsigned>(bits);
        out[start + i / in_a_byte] |= static_cast<std::byte>(codes[i] << place);
    }
}

inline void check_codebook(std::span<const std::uint32_t> indices,
                           std::span<const std::uint8_t> codes, std::span<const float> codebook) {
    const auto refuse = [](const std::string& what) {
        throw invalid_option("encode_codebook: " + what);
    };
    if (indices.size() != codes.size())
        refuse(std::to_string(indices.size()) + " indices for " + std::to_string(codes.size()) +
               " codes; they come in pairs");
    if (codebook.size() > codebook_words_max)
        refuse("a codebook of " + std::to_string(codebook.size()) + " values; at most 4");
    for (std::size_t i = 0; i < codebook.size(); ++i)
        if (!kernels::is_finite(codebook[i]) || (i > 0 && !(codebook[i - 1] < codebook[i])))
            refuse("value " + std::to_string(i) + " of the codebook is " +
                   std::to_string(codebook[i]) + "; they must be finite and rise strictly");
    std::array<bool, codebook_words_max> said{};
    for (std::size_t i = 0; i < codes.size(); ++i) {
        if (codes[i] >= codebook.size())
            refuse("code " + std::to_string(i) + " is " + std::to_string(codes[i]) +
                   "; it must be below " + std::to_string(codebook.size()) +
                   ", the values of the codebook");
        said[codes[i]] = true;
    }
    for (std::size_t i = 0; i < codebook.size(); ++i)
        if (!said[i]) refuse("no entry has value " + std::to_string(i) + " of the codebook");
}

SOTTO_DECL result<codebook_head> peek_codebook(byte_view in) noexcept {
    const auto head = read_varint(in);
    if (!head) return head.why();
    const auto entries = static_cast<std::int64_t>(head->value >> 3);
    const auto words = static_cast<std::int64_t>(head->value & 7);
    if (words > codebook_words_max)
        return fault{0, "a codebook of at most 4 values (5 to 7 are kept for later versions)",
                     words};
    if (words > entries || (words == 0 && entries > 0))
        return fault{0, "a codebook of at least 1 value and at most one for every entry", words};
    return codebook_head{entries, static_cast<int>(words), head->bytes};
}

SOTTO_DECL void encode_codebook(std::int64_t n, std::span<const std::uint32_t> indices,
                                std::span<const std::uint8_t> codes,
                                std::span<const float> codebook, bytes& out) {
    check_codebook(indices, codes, codebook);
    const auto plan = plan_of(n, indices);
    append_varint(out, std::uint64_t{indices.size()} << 3 | codebook.size());
    append_values(value_format::fp32, codebook, out);
    write_indices(plan, n, indices, out);
    append_codes(bits_of_word(static_cast<int>(codebook.size())), codes, out);
}

SOTTO_DECL result<sparse_entries<std::uint32_t>> decode_codebook(byte_view in, std::int64_t n,
                                                                 std::span<std::uint32_t> indices,
                                                                 std::span<float> values) noexcept {
    const auto head = peek_codebook(in);
    if (!head) return head.why();
    const std::int64_t k = head->entries;
    const auto count = static_cast<std::size_t>(k), words = static_cast<std::size_t>(head->words);
    if (k > n) return fault{0, "at most as many entries as elements", k};
    if (count > indices.size() || count > values.size())
        return fault{0, "at most as many entries as there is room for", k};

    const byte_view body = in.subspan(static_cast<std::size_t>(head->bytes));
    const auto code_bytes = static_cast<std::size_t>(codebook_code_bytes(k, head->words));
    if (4 * words + code_bytes > body.size())
        return fault{head->bytes, "a codebook and a code for every entry",
                     static_cast<std::int64_t>(body.size())};

    std::array<float, codebook_words_max> codebook{};
    const auto read =
        read_values(value_format::fp32, body.first(4 * words), std::span(codebook).first(words));
    if (!read) return read.why();
    for (std::size_t i = 0; i < words; ++i)
        if (!kernels::is_finite(codebook[i]) || (i > 0 && !(codebook[i - 1] < codebook[i])))
            return fault{head->bytes + static_cast<std::int64_t>(4 * i),
                         "a value of the codebook, finite and above the one before it",
                         std::int64_t{std::bit_cast<std::uint32_t>(codebook[i])}};

    const std::int64_t at = head->bytes + static_cast<std::int64_t>(4 * words);
    const auto mode = decode_indices(
        n, body.subspan(4 * words, body.size() - 4 * words - code_bytes), indices.first(count));
    if (!mode) return fault{at + mode.why().offset, mode.why().expected, mode.why().found};

    const byte_view packed = body.last(code_bytes);
    const auto codes_at = static_cast<std::int64_t>(in.size() - code_bytes);
    const int bits = bits_of_word(head->words);
    if (const auto used = static_cast<int>(k * bits % 8); used != 0)
        if (const auto last = std::to_integer<unsigned>(packed.back()); last >> used != 0)
            return fault{static_cast<std::int64_t>(in.size()) - 1, "zeros behind the last code",
                         std::int64_t{last}};
    std::array<bool, codebook_words_max> said{words == 1};
    for (std::size_t j = 0; j < count; ++j) {
        const std::size_t bit = j * static_cast<std::size_t>(bits);
        const unsigned byte = bits == 0 ? 0u : std::to_integer<unsigned>(packed[bit / 8]);
        const std::size_t code = byte >> bit % 8 & ((1u << bits) - 1);
        if (code >= words)
            return fault{codes_at + static_cast<std::int64_t>(bit / 8),
                         "a code of a value of the codebook", static_cast<std::int64_t>(code)};
        said[code] = true;
        values[j] = codebook[code];
    }
    for (std::size_t i = 0; i < words; ++i)
        if (!said[i])
            return fault{codes_at, "an entry for every value of the codebook, and none for number",
                         static_cast<std::int64_t>(i)};
    return sparse_entries<std::uint32_t>{indices.first(count), values.first(count)};
}

SOTTO_DECL std::int64_t encoded_codebook_bytes_max(std::int64_t n, std::int64_t k) noexcept {
    return varint_bytes(static_cast<std::uint64_t>(k) << 3 | 7) + 4 * codebook_words_max +
           (index_code_bits_max(n, k) + 7) / 8 + codebook_code_bytes(k, codebook_words_max);
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
