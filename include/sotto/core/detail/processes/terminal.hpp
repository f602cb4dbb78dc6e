#pragma once

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

#include "sotto/core/printable.hpp"

namespace sotto::detail {

/// Columns of the terminal that a stream writes to, as it is now; 80 where it does not report them.
inline std::size_t terminal_columns(std::FILE* stream) noexcept {
    ::winsize size{};
    const bool reports = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return reports ? size.ws_col : std::size_t{80};
}

/// Bytes of the first character of a text that is not empty; 1 where it is not UTF-8.
inline std::size_t first_length(std::string_view text) noexcept {
    const std::size_t length = first_character(text).length;
    return length == 0 ? 1 : length;
}

/// How many characters a text has.
inline std::size_t character_count(std::string_view text) noexcept {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(first_length(text));
    return count;
}

/// The text up to so many characters.
inline std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
    std::size_t size = 0;
    for (; count > 0 && size < text.size(); --count) size += first_length(text.substr(size));
    return text.substr(0, size);
}

}  // namespace sotto::detail
