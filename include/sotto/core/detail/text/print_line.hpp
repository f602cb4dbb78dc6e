#pragma once

#include <cstdio>
#include <string_view>

namespace sotto::detail {

/// Prints a text as one line. No character in the text can break or colour it: see printable. On a
/// terminal the line replaces a redrawn line, such as a progress bar. The line is one write, so
/// lines of several threads and processes do not mix. It reports no failure; see std::ferror.
void print_line(std::FILE* out, std::string_view text) noexcept;

/// Same for each line of a text whose parts are already printable.
void print_lines(std::FILE* out, std::string_view text) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/text/print_line.ipp"
#endif
