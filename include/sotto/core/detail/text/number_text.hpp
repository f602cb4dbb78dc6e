#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace sotto::detail {

/// Appends a number as std::to_chars writes it: the same in every locale. A NaN has no sign.
void append_formatted(std::string& text, double value, std::chars_format format, int precision);

/// Appends a number with so many digits, at most 64, after its point.
void append_fixed(std::string& text, double value, int places);

/// Appends a number with at most so many significant digits, as printf does by %g.
void append_general(std::string& text, double value, int digits);

/// A number with so many digits after its point.
std::string fixed_text(double value, int places);

/// A number with at most so many significant digits.
std::string general_text(double value, int digits);

/// Reads a number as std::from_chars does. Returns whether the whole text is one; if it is not,
/// `into` has any value.
template <class Number>
bool read_number(std::string_view text, Number& into) {
    const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), into);
    return why == std::errc() && end == text.data() + text.size();
}

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/text/number_text.ipp"
#endif
