#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto::detail {

/// One UTF-8 character: its code point and length in bytes. `length` is 0 if the text does not
/// begin with a valid sequence (overlong forms and surrogates are invalid).
struct utf8_character {
    std::uint32_t code = 0;
    std::size_t length = 0;
};

/// Decodes the first character of a text that is not empty.
utf8_character first_character(std::string_view text) noexcept;

/// True if a terminal or a log viewer acts on this character instead of showing it. These are
/// control characters, line and paragraph separators, and characters that change the direction of
/// text.
bool acts_on_terminals(std::uint32_t code) noexcept;

/// True if the whole text is valid UTF-8.
bool is_utf8(std::string_view text) noexcept;

}  // namespace sotto::detail

namespace sotto {

/// Returns a text from another process, a file or the environment, safe to print in one line. Bytes
/// that a terminal acts on, and bytes that are not UTF-8, become escapes: `\n`, `\t`, `\r`, or
/// `\x1b`, one for each byte. All other characters stay, including backslashes.
///   cost    O(size), one string
std::string printable(std::string_view text);

/// Same for a text of several lines, which stay separate lines.
std::string printable_lines(std::string_view text);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/printable.ipp"
#endif
