#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
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
    explicit vocabulary(std::string_view text) {
        ids_.fill(absent);
        for (const char c : text) ids_[index(c)] = 0;
        for (std::size_t c = 0; c < ids_.size(); ++c)
            if (ids_[c] != absent) {
                ids_[c] = static_cast<std::int16_t>(size_);
                characters_[size_++] = static_cast<char>(c);
            }
    }

    /// Characters that occur.
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }

    /// Whether a character occurs.
    bool contains(char c) const noexcept { return ids_[index(c)] != absent; }

    /// The numbers of a text's characters.
    result<std::vector<std::uint8_t>> encode(std::string_view text) const {
        std::vector<std::uint8_t> ids(text.size());
        for (std::size_t i = 0; i < text.size(); ++i) {
            const std::int16_t id = ids_[index(text[i])];
            if (id == absent)
                return detail::fault{static_cast<std::int64_t>(i), "a character of the vocabulary",
                                     static_cast<std::int64_t>(index(text[i]))};
            ids[i] = static_cast<std::uint8_t>(id);
        }
        return ids;
    }

    /// The character with this number.
    char character(std::int64_t id) const {
        if (id < 0 || id >= size())
            throw invalid_option("vocabulary: asked for character " + std::to_string(id) +
                                 "; expected 0 to " + std::to_string(size_) + " exclusive");
        return characters_[static_cast<std::size_t>(id)];
    }

    friend bool operator==(const vocabulary&, const vocabulary&) = default;

private:
    static constexpr std::int16_t absent = -1;

    static std::size_t index(char c) noexcept { return static_cast<unsigned char>(c); }

    std::size_t size_ = 0;
    std::array<std::int16_t, 256> ids_;  // of each byte
    std::array<char, 256> characters_{};
};

}  // namespace sotto::data
