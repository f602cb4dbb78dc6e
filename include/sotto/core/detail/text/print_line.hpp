#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "sotto/core/printable.hpp"

namespace sotto::detail {

/// Prints a text as one line that nothing in the text can break or colour: see printable. On a
/// terminal the line replaces one that is redrawn there, such as a progress bar. The line is one
/// write, so that lines of several threads and processes do not mix. No failure is reported; see
/// std::ferror.
inline void print_line(std::FILE* out, std::string_view text) noexcept {
    try {
        std::string line = ::isatty(::fileno(out)) == 1 ? "\r\033[K" : "";
        line += printable(text);
        line += '\n';
        std::fwrite(line.data(), 1, line.size(), out);
    } catch (...) {
        std::fputs("sotto: no memory is left to print a message\n", out);
    }
}

/// The same for each line of a text whose parts were made printable when it was composed.
inline void print_lines(std::FILE* out, std::string_view text) noexcept {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        print_line(out, line);
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
}

}  // namespace sotto::detail
