#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace sotto::detail::reporting {

/// Text from outside, safe between tags and inside quoted attributes. Bytes that are not UTF-8,
/// control characters and characters that change the direction of text become U+FFFD. A text
/// longer than `longest` bytes ends in an ellipsis.
std::string escaped(std::string_view text, std::size_t longest = 2000);

/// A number with so many places, in any locale.
std::string fixed(double value, int places);

/// A coordinate: a tenth of a unit is less than anybody sees.
std::string at(double value);

/// So many digits that count, without an exponent where that can be read.
std::string digits(double value, int count = 3);

/// A whole number with its thousands apart.
std::string counted(double value);

/// Three digits, or fewer where the number is whole.
std::string rounded(double value);

/// In the largest of some units that leaves at least 1, with three digits.
template <std::size_t Count>
std::string in_units(double value, double step, const std::array<const char*, Count>& units) {
    std::size_t unit = 0;
    while (unit + 1 < Count && std::abs(value) >= step) value /= step, ++unit;
    return rounded(value) + "\u202f" + units[unit];
}

/// A number of bytes: "1.5 KiB".
std::string bytes(double value);

/// A link's rate, in bits as networks are sold.
std::string bandwidth(double bytes_per_second);

/// A length of time: "2.1 s".
std::string seconds(double value);

/// "77 times", "1.6 times", "1 210 times", "0.23 times".
std::string times(double ratio);

/// A share as a percentage.
std::string percent(double share, int places = 2);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/report_text.ipp"
#endif
