#pragma once

#include "sotto/core/detail/text/number_text.hpp"

#include <array>
#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void append_formatted(std::string& text, double value, std::chars_format format,
                                 int precision) {
    std::array<char, 400> buffer;  // the largest double has 309 digits before its point
    const auto written =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
    const std::string_view number(buffer.data(),
                                  static_cast<std::size_t>(written.ptr - buffer.data()));
    text += number == "-nan" ? number.substr(1) : number;
}

SOTTO_DECL void append_fixed(std::string& text, double value, int places) {
    append_formatted(text, value, std::chars_format::fixed, places);
}

SOTTO_DECL void append_general(std::string& text, double value, int digits) {
    append_formatted(text, value, std::chars_format::general, digits);
}

SOTTO_DECL std::string fixed_text(double value, int places) {
    std::string text;
    append_fixed(text, value, places);
    return text;
}

SOTTO_DECL std::string general_text(double value, int digits) {
    std::string text;
    append_general(text, value, digits);
    return text;
}

}  // namespace sotto::detail
