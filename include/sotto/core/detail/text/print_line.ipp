#pragma once

#include "sotto/core/detail/text/print_line.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail {

SOTTO_DECL void print_line(std::FILE* out, std::string_view text) noexcept {
    try {
        std::string line = ::isatty(::fileno(out)) == 1 ? "\r\033[K" : "";
        line += printable(text);
        line += '\n';
        std::fwrite(line.data(), 1, line.size(), out);
    } catch (...) {
        std::fputs("sotto: no memory is left to print a message\n", out);
    }
}

SOTTO_DECL void print_lines(std::FILE* out, std::string_view text) noexcept {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        print_line(out, line);
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
}

}  // namespace sotto::detail
