#pragma once

#include "sotto/core/detail/processes/terminal.hpp"

#include <sys/ioctl.h>

#include <cstdio>

#include "sotto/core/config.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail {

SOTTO_DECL std::size_t terminal_columns(std::FILE* stream) noexcept {
    ::winsize size{};
    const bool reports = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return reports ? size.ws_col : std::size_t{80};
}

SOTTO_DECL std::size_t first_length(std::string_view text) noexcept {
    const std::size_t length = first_character(text).length;
    return length == 0 ? 1 : length;
}

SOTTO_DECL std::size_t character_count(std::string_view text) noexcept {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(first_length(text));
    return count;
}

SOTTO_DECL std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
    std::size_t size = 0;
    for (; count > 0 && size < text.size(); --count) size += first_length(text.substr(size));
    return text.substr(0, size);
}

}  // namespace sotto::detail
