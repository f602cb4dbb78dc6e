#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

template <std::unsigned_integral Word>
constexpr Word reversed_bytes(Word word) noexcept {
    Word reversed = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i)
        reversed = static_cast<Word>(reversed |
                                     ((word >> (8 * i) & 0xFFu) << (8 * (sizeof(Word) - 1 - i))));
    return reversed;
}

/// Converts a word between the machine's byte order and that of the wire, in both directions.
template <std::unsigned_integral Word>
constexpr Word little_endian(Word word) noexcept {
    if constexpr (std::endian::native == std::endian::big) return reversed_bytes(word);
    return word;
}

/// Returns the word at `from`, which needs no alignment; requires sizeof(Word) readable bytes.
template <std::unsigned_integral Word>
Word load_little_endian(const std::byte* from) noexcept {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return little_endian(word);
}

/// Writes a word to `to`, which needs no alignment; requires sizeof(Word) writable bytes.
template <std::unsigned_integral Word>
void store_little_endian(std::byte* to, Word word) noexcept {
    word = little_endian(word);
    std::memcpy(to, &word, sizeof word);
}

/// Writes words one after another; requires words.size_bytes() writable bytes at `to`.
template <std::unsigned_integral Word>
void store_little_endian(std::byte* to, std::span<const Word> words) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (!words.empty()) std::memcpy(to, words.data(), words.size_bytes());
    } else {
        for (const Word word : words)
            store_little_endian(std::exchange(to, to + sizeof(Word)), word);
    }
}

/// Reads words one after another; requires words.size_bytes() readable bytes at `from`.
template <std::unsigned_integral Word>
void load_little_endian(const std::byte* from, std::span<Word> words) noexcept {
    if constexpr (std::endian::native == std::endian::little) {
        if (!words.empty()) std::memcpy(words.data(), from, words.size_bytes());
    } else {
        for (Word& word : words)
            word = load_little_endian<Word>(std::exchange(from, from + sizeof(Word)));
    }
}

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
