#pragma once

#include "sotto/logging/detail/report_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::string escaped(std::string_view text, std::size_t longest) {
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

SOTTO_DECL std::string fixed(double value, int places) {
    if (!is_finite(value)) return is_nan(value) ? "–" : value > 0 ? "∞" : "−∞";
    std::array<char, 400> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::fixed, places)
                         .ptr;
    std::string text(buffer.data(), end);
    if (text.find_first_not_of("-0.") == text.npos && text.front() == '-') text.erase(0, 1);
    return text;
}

SOTTO_DECL std::string at(double value) {
    return fixed(std::clamp(is_finite(value) ? value : 0.0, -1e5, 1e5), 1);
}

SOTTO_DECL std::string digits(double value, int count) {
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

SOTTO_DECL std::string counted(double value) {
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

SOTTO_DECL std::string rounded(double value) {
    const double nearest = std::round(value);
    const bool whole = std::abs(value - nearest) <= 1e-9 * std::abs(value);
    return whole && std::abs(value) < 1000.0 ? fixed(nearest, 0) : digits(value);
}

SOTTO_DECL std::string bytes(double value) {
    return in_units(value, 1024.0, std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

SOTTO_DECL std::string bandwidth(double bytes_per_second) {
    return in_units(8.0 * bytes_per_second, 1000.0,
                    std::array{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"});
}

SOTTO_DECL std::string seconds(double value) {
    const double size = std::abs(value);
    if (is_nan(size) || size >= 1e10) return digits(value) + "\u202fs";  // three centuries or more
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

SOTTO_DECL std::string times(double ratio) {
    if (!is_finite(ratio)) return "–";
    if (ratio < 0.95) return digits(ratio, 2) + "\u202f×";
    return (ratio < 9.95 ? fixed(ratio, 1) : counted(std::round(ratio))) + "\u202f×";
}

SOTTO_DECL std::string percent(double share, int places) {
    return fixed(100.0 * share, places) + "\u202f%";
}

}  // namespace sotto::detail::reporting
