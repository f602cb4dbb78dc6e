#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace sotto::detail {

/// Appends a number as std::to_chars writes it: the same in every locale. A NaN has no sign.
inline void append_formatted(std::string& text, double value, std::chars_format format,
                             int precision) {
    std::array<char, 400> buffer;  // the largest double has 309 digits before its point
    const auto written =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
    const std::string_view number(buffer.data(),
                                  static_cast<std::size_t>(written.ptr - buffer.data()));
    text += number == "-nan" ? number.substr(1) : number;
}

/// Appends a number with so many digits, at most 64, after its point.
inline void append_fixed(std::string& text, double value, int places) {
    append_formatted(text, value, std::chars_format::fixed, places);
}

/// Appends a number with at most so many significant digits, as printf does by %g.
inline void append_general(std::string& text, double value, int digits) {
    append_formatted(text, value, std::chars_format::general, digits);
}

/// A number with so many digits after its point.
inline std::string fixed_text(double value, int places) {
    std::string text;
    append_fixed(text, value, places);
    return text;
}

/// A number with at most so many significant digits.
inline std::string general_text(double value, int digits) {
    std::string text;
    append_general(text, value, digits);
    return text;
}

}  // namespace sotto::detail
