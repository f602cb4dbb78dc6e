#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace sotto::detail {

/// Columns of the terminal that a stream writes to, as it is now; 80 where it does not report them.
std::size_t terminal_columns(std::FILE* stream) noexcept;

/// Bytes of the first character of a text that is not empty; 1 where it is not UTF-8.
std::size_t first_length(std::string_view text) noexcept;

/// How many characters a text has.
std::size_t character_count(std::string_view text) noexcept;

/// The text up to so many characters.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/terminal.ipp"
#endif
