#pragma once

#include <cstdio>
#include <string_view>

namespace sotto::detail {

/// Prints a text as one line that nothing in the text can break or colour: see printable. On a
/// terminal the line replaces one that is redrawn there, such as a progress bar. The line is one
/// write, so that lines of several threads and processes do not mix. No failure is reported; see
/// std::ferror.
void print_line(std::FILE* out, std::string_view text) noexcept;

/// The same for each line of a text whose parts were made printable when it was composed.
void print_lines(std::FILE* out, std::string_view text) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/text/print_line.ipp"
#endif
