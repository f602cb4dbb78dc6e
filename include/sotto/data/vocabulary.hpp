#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sotto/core/result.hpp"

namespace sotto::data {

/// The characters that occur in a text, numbered from 0 in the order of their values. A character
/// is a byte: one of UTF-8 beyond ASCII counts as the two to four bytes that it is written in.
///   cost    made by one pass over the text;  encode 1 byte a character
///   errors  encode: a fault at the first character that does not occur;  character:
///           invalid_option, a number outside 0..size()-1
class vocabulary {
public:
    /// Of all characters that occur in the text.
    explicit vocabulary(std::string_view text);

    /// Characters that occur.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }

    /// Whether a character occurs.
    bool contains(char c) const noexcept { return ids_[index(c)] != absent; }

    /// The numbers of a text's characters.
    result<std::vector<std::uint8_t>> encode(std::string_view text) const;

    /// The character with this number.
    char character(std::int64_t id) const;

    friend bool operator==(const vocabulary&, const vocabulary&) = default;

private:
    static constexpr std::int16_t absent = -1;

    static std::size_t index(char c) noexcept { return static_cast<unsigned char>(c); }

    std::size_t size_ = 0;
    std::array<std::int16_t, 256> ids_;  // of each byte
    std::array<char, 256> characters_{};
};

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/vocabulary.ipp"
#endif
