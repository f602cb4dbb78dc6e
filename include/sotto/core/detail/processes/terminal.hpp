#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

namespace sotto::detail {

/// Returns the current number of columns of a stream's terminal; 80 if it does not report them.
std::size_t terminal_columns(std::FILE* stream) noexcept;

/// Returns the bytes of the first character of a text that is not empty; 1 if it is not UTF-8.
std::size_t first_length(std::string_view text) noexcept;

/// Returns the number of characters in a text.
std::size_t character_count(std::string_view text) noexcept;

/// Returns the first `count` characters of a text.
std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/terminal.ipp"
#endif
