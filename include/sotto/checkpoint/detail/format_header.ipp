#pragma once

#include "sotto/checkpoint/detail/format_header.hpp"

#include <cstring>
#include <iterator>

#include "sotto/checkpoint/detail/json_cursor.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string_view line_at(std::string_view text, std::size_t byte) noexcept {
    const std::size_t end = text.find('\n', byte);
    text = text.substr(0, end);
    const std::size_t before = text.substr(0, byte).rfind('\n');
    return text.substr(before == text.npos ? 0 : before + 1);
}

SOTTO_DECL void append_json(std::string& text, std::string_view value) {
    constexpr char digits[] = "0123456789abcdef";
    const std::string_view whole = value;
    text += '"';
    while (true) {
        const std::size_t plain = plain_sequence(value);
        text.append(value.substr(0, plain));
        value.remove_prefix(plain);
        if (value.empty()) break;
        const std::size_t length = utf8_sequence(value);
        if (length == 0)
            throw invalid_option("checkpoint: '" +
                                 printable(line_at(whole, whole.size() - value.size())) +
                                 "' is not UTF-8, and can be no name or text of a checkpoint");
        const char c = value[0];
        if (c == '"' || c == '\\') {
            (text += '\\') += c;
        } else if (c == '\n') {
            text += "\\n";
        } else if (length == 1 && static_cast<unsigned char>(c) < 0x20u) {
            text += "\\u00";
            text += digits[c >> 4 & 1];
            text += digits[c & 15];
        } else {
            text.append(value.substr(0, length));
        }
        value.remove_prefix(length);
    }
    text += '"';
}

SOTTO_DECL void require_room(std::int64_t found, std::int64_t most, const std::string& of_what) {
    if (found > most)
        throw invalid_option("checkpoint: there would be " + std::to_string(found) + " " + of_what +
                             "; at most " + std::to_string(most) + " are possible");
}

SOTTO_DECL bytes format_header(const file_header& header) {
    require_room(std::ssize(header.metadata), file_header::metadata_max, "metadata in its header");
    std::string text = "{";
    const auto separate = [&] {
        if (text.back() != '{') text += ',';
    };
    if (!header.metadata.empty()) {
        text += "\"__metadata__\":{";
        for (const auto& [key, value] : header.metadata) {
            separate();
            append_json(text, key);
            text += ':';
            append_json(text, value);
        }
        text += '}';
    }
    for (const tensor_entry& entry : header.tensors) {
        require_room(std::ssize(entry.shape), file_header::rank_max,
                     "extents of tensor '" + entry.name + "'");
        separate();
        append_json(text, entry.name);
        text.append(":{\"dtype\":\"").append(name_of(entry.type)).append("\",\"shape\":[");
        for (std::size_t i = 0; i < entry.shape.size(); ++i) {
            if (i > 0) text += ',';
            sotto::detail::append_number(text, entry.shape[i]);
        }
        text += "],\"data_offsets\":[";
        sotto::detail::append_number(text, entry.begin);
        text += ',';
        sotto::detail::append_number(text, entry.end);
        text += "]}";
    }
    text += '}';
    text.resize((text.size() + 7) / 8 * 8, ' ');
    require_room(std::ssize(text), file_header::json_bytes_max,
                 "bytes of header for " + std::to_string(header.tensors.size()) + " tensors");
    constexpr auto length_bytes = static_cast<std::size_t>(file_header::length_bytes);
    bytes out(length_bytes + text.size());
    wire::store_little_endian(out.data(), std::uint64_t{text.size()});
    std::memcpy(out.data() + length_bytes, text.data(), text.size());
    return out;
}

}  // namespace sotto::detail::checkpoint
