#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace sotto::detail::reporting {

/// Returns text from outside, safe between tags and inside quoted attributes. Bytes that are not
/// UTF-8, control characters and characters that change the direction of text become U+FFFD. A text
/// longer than `longest` bytes ends in an ellipsis.
std::string escaped(std::string_view text, std::size_t longest = 2000);

/// Returns a number with this many decimal places, independent of the locale.
std::string fixed(double value, int places);

/// Returns a coordinate; a tenth of a unit is below what is visible.
std::string at(double value);

/// Returns a number with this many significant digits, without an exponent if that is readable.
std::string digits(double value, int count = 3);

/// Returns a whole number with its thousands separated.
std::string counted(double value);

/// Returns a number with three digits, or fewer if it is whole.
std::string rounded(double value);

/// Returns a number with three digits, in the largest unit that leaves at least 1.
template <std::size_t Count>
std::string in_units(double value, double step, const std::array<const char*, Count>& units) {
    std::size_t unit = 0;
    while (unit + 1 < Count && std::abs(value) >= step) value /= step, ++unit;
    return rounded(value) + "\u202f" + units[unit];
}

/// Returns a number of bytes, such as "1.5 KiB".
std::string bytes(double value);

/// Returns a link's rate, in bits as networks are sold.
std::string bandwidth(double bytes_per_second);

/// Returns a duration, such as "2.1 s".
std::string seconds(double value);

/// Returns a ratio, such as "77 times", "1.6 times", "1 210 times" or "0.23 times".
std::string times(double ratio);

/// Returns a share as a percentage.
std::string percent(double share, int places = 2);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/report_text.ipp"
#endif
