#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/result.hpp"

namespace sotto::detail::checkpoint {

/// The length of the UTF-8 sequence that text begins with; 0 if it is none (overlong forms,
/// surrogates and what is above U+10FFFF are none).
std::size_t utf8_sequence(std::string_view text) noexcept;

/// Which bytes stand for themselves in a JSON string, whatever follows.
inline constexpr auto plain_bytes = [] {
    std::array<bool, 256> plain{};
    for (std::size_t i = 0x20; i < 0x80; ++i) plain[i] = i != '"' && i != '\\';
    return plain;
}();

/// How many of these text begins with: of nearly all names, all.
std::size_t plain_sequence(std::string_view text) noexcept;

void append_utf8(std::string& text, std::uint32_t code);

/// Reads the few things that a safetensors header is made of from JSON text: punctuation, strings
/// and counts. What nests in what is the caller's, so that no input makes it recurse.
///   cost    a string takes at most as many bytes as its text
///   errors  faults name the byte, counted from `base`, and the character found there, or the
///           end: strings that are not UTF-8 or hold control characters or lone surrogates; counts
///           with a sign, fraction, exponent or leading zero, or above 2^63 - 1
class json_cursor {
public:
    /// Reads the text, which must outlive it; `base` is the byte of the file at which it begins.
    json_cursor(std::string_view text, std::int64_t base) : text_(text), base_(base) {}

    /// Skips white space; whether `c` is next, which is then taken.
    bool take(char c) noexcept;

    /// Whether nothing but white space is left, which is skipped.
    bool at_end() noexcept;

    /// Where the next thing stands in the file.
    std::int64_t offset() noexcept;

    /// The fault that something else stands here than was `expected`.
    fault unexpected(const char* expected) const noexcept;

    /// A string without its quotes and escapes, as UTF-8.
    result<std::string> string(const char* expected);

    /// A count: digits alone.
    result<std::int64_t> count(const char* expected);

private:
    bool digit() const noexcept;

    void skip() noexcept;

    /// What follows a backslash.
    std::optional<fault> escape(std::string& value);

    /// 'u' and four hexadecimal digits.
    std::optional<fault> unit(std::uint32_t& code);

    std::string_view text_;
    std::int64_t base_;
    std::size_t at_ = 0;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/json_cursor.ipp"
#endif
