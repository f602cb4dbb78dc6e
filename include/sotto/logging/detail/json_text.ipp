#pragma once

#include "sotto/logging/detail/json_text.hpp"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail {

SOTTO_DECL bool has_non_finite(const nlohmann::ordered_json& value) {
    if (value.is_structured()) return std::any_of(value.begin(), value.end(), has_non_finite);
    return value.is_number_float() && !is_finite(value.get_ref<const double&>());
}

SOTTO_DECL void drop_non_finite(nlohmann::ordered_json& value) {
    if (value.is_structured()) {
        for (nlohmann::ordered_json& inner : value) drop_non_finite(inner);
    } else if (has_non_finite(value)) {
        value = nullptr;
    }
}

SOTTO_DECL std::string json_text(const nlohmann::ordered_json& object) {
    using nlohmann::ordered_json;
    if (has_non_finite(object)) [[unlikely]] {
        ordered_json finite = object;
        drop_non_finite(finite);
        return json_text(finite);
    }
    const std::string plain = object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    const auto is_beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x7f; };
    if (std::none_of(plain.begin(), plain.end(), is_beyond)) return plain;  // the usual case
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
