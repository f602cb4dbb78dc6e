#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sotto/core/result.hpp"

namespace sotto::data {

/// The characters of a text, numbered from 0 in the order of their values. A character is a byte: a
/// UTF-8 character beyond ASCII counts as two to four of them.
///   cost    built in one pass over the text;  encode: 1 byte per character
///   errors  encode: a fault at the first character that is not in the vocabulary;  character:
///           invalid_option, a number outside 0..size()-1
class vocabulary {
public:
    /// Contains all characters of the text.
    explicit vocabulary(std::string_view text);

    /// Number of different characters.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }

    /// True if the vocabulary contains `c`.
    bool contains(char c) const noexcept { return ids_[index(c)] != absent; }

    /// Returns the numbers of a text's characters.
    result<std::vector<std::uint8_t>> encode(std::string_view text) const;

    /// Returns the character with this number.
    char character(std::int64_t id) const;

    friend bool operator==(const vocabulary&, const vocabulary&) = default;

private:
    static constexpr std::int16_t absent = -1;

    static std::size_t index(char c) noexcept { return static_cast<unsigned char>(c); }

    std::size_t size_ = 0;
    std::array<std::int16_t, 256> ids_;  // by byte value
    std::array<char, 256> characters_{};
};

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/vocabulary.ipp"
#endif
