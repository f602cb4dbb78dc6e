#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sotto/core/printable.hpp"

namespace sotto::detail {

/// An object as one line of JSON that is safe to print. Bytes that are not UTF-8 are replaced, and
/// what a terminal would act on is escaped, also where JSON allows it: a path or a cause may hold
/// anything.
inline std::string json_text(const nlohmann::ordered_json& object) {
    using nlohmann::ordered_json;
    const std::string plain = object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    const auto is_beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x7f; };
    if (std::none_of(plain.begin(), plain.end(), is_beyond)) return plain;  // as nearly always
    std::string text;
    text.reserve(plain.size());
    constexpr char digits[] = "0123456789abcdef";
    for (std::string_view rest = plain; !rest.empty();) {
        const utf8_character character = first_character(rest);
        if (!acts_on_terminals(character.code)) {
            text += rest.substr(0, character.length);
        } else {
            text += "\\u";
            for (int shift = 12; shift >= 0; shift -= 4)
                text += digits[character.code >> shift & 0xf];
        }
        rest.remove_prefix(character.length);
    }
    return text;
}

}  // namespace sotto::detail
