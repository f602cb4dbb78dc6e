#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace sotto::detail {

/// Appends a number as std::to_chars writes it: the same in every locale. A NaN has no sign.
void append_formatted(std::string& text, double value, std::chars_format format, int precision);

/// Appends a number with `places` digits, at most 64, after its point.
void append_fixed(std::string& text, double value, int places);

/// Appends a number with at most `digits` significant digits, like printf with %g.
void append_general(std::string& text, double value, int digits);

/// Returns a number with `places` digits after its point.
std::string fixed_text(double value, int places);

/// Returns a number with at most `digits` significant digits.
std::string general_text(double value, int digits);

/// Reads a number as std::from_chars does. Returns true if the whole text is a number; otherwise
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
