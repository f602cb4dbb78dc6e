#pragma once

#include "sotto/core/printable.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL utf8_character first_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
    std::uint32_t code = lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = code << 6 | (byte(i) & 0x3fu);
    }
    if (length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) return {};
    if (length == 4 && (code < 0x10000 || code > 0x10ffff)) return {};
    return {code, length};
}

SOTTO_DECL bool acts_on_terminals(std::uint32_t code) noexcept {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

SOTTO_DECL bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = first_character(text).length;
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL std::string printable(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const detail::utf8_character character = detail::first_character(text);
        const std::size_t length = character.length == 0 ? 1 : character.length;
        if (character.length > 0 && !detail::acts_on_terminals(character.code)) {
            shown += text.substr(0, length);
        } else if (text[0] == '\n') {
            shown += "\\n";
        } else if (text[0] == '\t') {
            shown += "\\t";
        } else if (text[0] == '\r') {
            shown += "\\r";
        } else {
            for (const char each : text.substr(0, length)) {
                const auto byte = static_cast<unsigned char>(each);
                shown += "\\x";
                shown += digits[byte >> 4];
                shown += digits[byte & 0xf];
            }
        }
        text.remove_prefix(length);
    }
    return shown;
}

SOTTO_DECL std::string printable_lines(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        shown += printable(line);
        if (line.size() < text.size()) shown += '\n';
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    }
    return shown;
}

}  // namespace sotto
