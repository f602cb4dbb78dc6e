#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail::reporting {

/// Text from outside, safe between tags and inside quoted attributes. Bytes that are not UTF-8,
/// control characters and characters that change the direction of text become U+FFFD. A text
/// longer than `longest` bytes ends in an ellipsis.
inline std::string escaped(std::string_view text, std::size_t longest = 2000) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (i >= longest) return out + "…";
        const auto [code, length] = detail::first_character(text.substr(i));
        const bool is_blank = code == '\n' || code == '\t';
        if (length == 0 || (detail::acts_on_terminals(code) && !is_blank)) {
            out += "\xef\xbf\xbd";
            i += length == 0 ? 1 : length;
            continue;
        }
        switch (text[i]) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += text.substr(i, length);
        }
        i += length;
    }
    return out;
}

/// A number with so many places, in any locale.
inline std::string fixed(double value, int places) {
    if (!is_finite(value)) return is_nan(value) ? "–" : value > 0 ? "∞" : "−∞";
    std::array<char, 400> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::fixed, places)
                         .ptr;
    std::string text(buffer.data(), end);
    if (text.find_first_not_of("-0.") == text.npos && text.front() == '-') text.erase(0, 1);
    return text;
}

/// A coordinate: a tenth of a unit is less than anybody sees.
inline std::string at(double value) {
    return fixed(std::clamp(is_finite(value) ? value : 0.0, -1e5, 1e5), 1);
}

/// So many digits that count, without an exponent where that can be read.
inline std::string digits(double value, int count = 3) {
    if (!is_finite(value)) return fixed(value, 0);
    if (value == 0.0) return "0";
    const double size = std::abs(value);
    if (size >= 1e7 || size < 1e-5) {
        std::array<char, 32> buffer;
        return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                             std::chars_format::scientific, count - 1)
                                   .ptr};
    }
    const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
    return fixed(value, std::clamp(count - before, 0, 9));
}

/// A whole number with its thousands apart.
inline std::string counted(double value) {
    const std::string plain = fixed(value, 0);
    if (!is_finite(value) || std::abs(value) >= 1e15) return digits(value);
    const std::size_t start = plain.front() == '-' ? 1 : 0;
    std::string out = plain.substr(0, start);
    for (std::size_t i = start; i < plain.size(); ++i) {
        if (i > start && (plain.size() - i) % 3 == 0) out += "\u202f";
        out += plain[i];
    }
    return out;
}

/// Three digits, or fewer where the number is whole.
inline std::string rounded(double value) {
    const double nearest = std::round(value);
    const bool whole = std::abs(value - nearest) <= 1e-9 * std::abs(value);
    return whole && std::abs(value) < 1000.0 ? fixed(nearest, 0) : digits(value);
}

/// In the largest of some units that leaves at least 1, with three digits.
template <std::size_t Count>
std::string in_units(double value, double step, const std::array<const char*, Count>& units) {
    std::size_t unit = 0;
    while (unit + 1 < Count && std::abs(value) >= step) value /= step, ++unit;
    return rounded(value) + "\u202f" + units[unit];
}

/// A number of bytes: "1.5 KiB".
inline std::string bytes(double value) {
    return in_units(value, 1024.0, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

/// A link's rate, in bits as networks are sold.
inline std::string bandwidth(double bytes_per_second) {
    return in_units(8.0 * bytes_per_second, 1000.0,
                    std::array{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"});
}

/// A length of time: "2.1 s".
inline std::string seconds(double value) {
    const double size = std::abs(value);
    if (is_nan(size) || size >= 1e10) return digits(value) + "\u202fs";  // centuries
    if (size >= 7200.0)
        return fixed(std::floor(value / 3600.0), 0) + "\u202fh " +
               fixed(std::floor(std::fmod(value, 3600.0) / 60.0), 0) + "\u202fmin";
    if (size >= 120.0)
        return fixed(std::floor(value / 60.0), 0) + "\u202fmin " +
               fixed(std::floor(std::fmod(value, 60.0)), 0) + "\u202fs";
    if (size >= 1.0 || value == 0.0) return rounded(value) + "\u202fs";
    if (size >= 1e-3) return rounded(1e3 * value) + "\u202fms";
    return rounded(1e6 * value) + "\u202fµs";
}

/// "77 times", "1.6 times", "1 210 times", "0.23 times".
inline std::string times(double ratio) {
    if (!is_finite(ratio)) return "–";
    if (ratio < 0.95) return digits(ratio, 2) + "\u202f×";
    return (ratio < 9.95 ? fixed(ratio, 1) : counted(std::round(ratio))) + "\u202f×";
}

/// A share as a percentage.
inline std::string percent(double share, int places = 2) {
    return fixed(100.0 * share, places) + "\u202f%";
}

}  // namespace sotto::detail::reporting
