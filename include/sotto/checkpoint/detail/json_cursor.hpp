#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/result.hpp"

namespace sotto::detail::checkpoint {

/// Returns the length of the UTF-8 sequence at the start of a text; 0 if it is invalid (overlong
/// forms, surrogates, values above U+10FFFF).
std::size_t utf8_sequence(std::string_view text) noexcept;

/// True for bytes that stand for themselves in a JSON string.
inline constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t i = 0x20; i < 0x80; ++i) plain[i] = i != '"' && i != '\\';
    return plain;
}();

/// Returns how many such bytes are at the start of a text: in nearly all names, all of them.
std::size_t plain_sequence(std::string_view text) noexcept;

void append_utf8(std::string& text, std::uint32_t code);

/// Reads punctuation, strings and counts of a safetensors header from JSON text. The caller handles
/// nesting, so no input makes the reader recurse.
///   cost    a string takes at most as many bytes as its text
///   errors  faults name the byte, counted from `base`, and the character found there, or the end:
///           strings that are not UTF-8 or hold control characters or lone surrogates; counts with
///           a sign, fraction, exponent or leading zero, or above 2^63 - 1
class json_cursor {
public:
    /// Reads the text, which must outlive the cursor. `base` is the byte of the file at which the
    /// text begins.
    json_cursor(std::string_view text, std::int64_t base) : text_(text), base_(base) {}

    /// Skips white space. If `c` is next, skips it too and returns true.
    bool take(char c) noexcept;

    /// Skips white space; returns true if nothing else is left.
    bool at_end() noexcept;

    /// Returns the place of the next element in the file.
    std::int64_t offset() noexcept;

    /// Returns the fault that something other than `expected` is here.
    fault unexpected(const char* expected) const noexcept;

    /// Reads a string without its quotes and escapes, as UTF-8.
    result<std::string> string(const char* expected);

    /// Reads a count, which has digits only.
    result<std::int64_t> count(const char* expected);

private:
    bool digit() const noexcept;

    void skip() noexcept;

    /// Reads what follows a backslash.
    std::optional<fault> escape(std::string& value);

    /// Reads 'u' and four hexadecimal digits.
    std::optional<fault> unit(std::uint32_t& code);

    std::string_view text_;
    std::int64_t base_;
    std::size_t at_ = 0;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/json_cursor.ipp"
#endif
