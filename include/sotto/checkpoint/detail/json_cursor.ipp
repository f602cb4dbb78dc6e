#pragma once

#include "sotto/checkpoint/detail/json_cursor.hpp"

#include <limits>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::size_t utf8_sequence(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
    const unsigned a = byte(0), b = byte(1);
    if (text.empty()) return 0;
    if (a < 0x80u) return 1;
    if (a < 0xC2u) return 0;
    if (a < 0xE0u) return follows(1) ? 2 : 0;
    if (a < 0xF0u) {
        if (!follows(1) || !follows(2) || (a == 0xE0u && b < 0xA0u) || (a == 0xEDu && b >= 0xA0u))
            return 0;
        return 3;
    }
    if (a > 0xF4u || !follows(1) || !follows(2) || !follows(3)) return 0;
    return (a == 0xF0u && b < 0x90u) || (a == 0xF4u && b >= 0x90u) ? 0 : 4;
}

SOTTO_DECL std::size_t plain_sequence(std::string_view text) noexcept {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* at = begin;
    while (at != end && plain_bytes.data()[static_cast<unsigned char>(*at)]) ++at;
    return static_cast<std::size_t>(at - begin);
}

SOTTO_DECL void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    const auto follow = [&](int shift) { put(0x80u | (code >> shift & 0x3Fu)); };
    if (code < 0x80u) return put(code);
    if (code < 0x800u) {
        put(0xC0u | code >> 6);
    } else if (code < 0x10000u) {
        put(0xE0u | code >> 12);
        follow(6);
    } else {
        put(0xF0u | code >> 18);
        follow(12);
        follow(6);
    }
    follow(0);
}

SOTTO_DECL bool json_cursor::take(char c) noexcept {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
}

SOTTO_DECL bool json_cursor::at_end() noexcept {
    skip();
    return at_ == text_.size();
}

SOTTO_DECL std::int64_t json_cursor::offset() noexcept {
    skip();
    return base_ + static_cast<std::int64_t>(at_);
}

SOTTO_DECL fault json_cursor::unexpected(const char* expected) const noexcept {
    return {base_ + static_cast<std::int64_t>(at_), expected,
            at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : fault::end};
}

SOTTO_DECL result<std::string> json_cursor::string(const char* expected) {
    if (!take('"')) return unexpected(expected);
    std::string value;
    while (true) {
        const std::size_t plain = plain_sequence(text_.substr(at_));
        value.append(text_.substr(at_, plain));
        at_ += plain;
        if (at_ == text_.size() || text_[at_] == '"') break;
        if (static_cast<unsigned char>(text_[at_]) < 0x20u)
            return unexpected("no control character in a string");
        if (text_[at_] == '\\') {
            ++at_;
            if (const auto why = escape(value)) return *why;
            continue;
        }
        const std::size_t length = utf8_sequence(text_.substr(at_));
        if (length == 0) return unexpected("UTF-8 in a string");
        value.append(text_.substr(at_, length));
        at_ += length;
    }
    if (at_ == text_.size()) return unexpected("the '\"' that ends a string");
    ++at_;
    return value;
}

SOTTO_DECL result<std::int64_t> json_cursor::count(const char* expected) {
    skip();
    if (!digit()) return unexpected(expected);
    constexpr std::int64_t largest = (std::numeric_limits<std::int64_t>::max)();
    const bool zero = text_[at_] == '0';
    std::int64_t value = 0;
    while (digit()) {
        const std::int64_t next = text_[at_] - '0';
        if (value > (largest - next) / 10) return unexpected("a number of at most 2^63 - 1");
        value = 10 * value + next;
        ++at_;
        if (zero && digit()) return unexpected("no digit after a leading 0");
    }
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
        return unexpected("a whole number");
    return value;
}

SOTTO_DECL bool json_cursor::digit() const noexcept {
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
}

SOTTO_DECL void json_cursor::skip() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
        ++at_;
}

SOTTO_DECL std::optional<fault> json_cursor::escape(std::string& value) {
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (at_ < text_.size() && text_[at_] != 'u') {
        const std::size_t which = names.find(text_[at_]);
        if (which == names.npos) return unexpected("one of \"\\/bfnrtu after a backslash");
        value += meanings[which];
        ++at_;
        return std::nullopt;
    }
    std::uint32_t code = 0;
    if (const auto why = unit(code)) return why;
    if (code >= 0xD800u && code < 0xE000u) {
        std::uint32_t low = 0;
        if (code >= 0xDC00u || text_.substr(at_, 1) != "\\")
            return unexpected("the second half of a surrogate pair");
        ++at_;
        if (const auto why = unit(low)) return why;
        if (low < 0xDC00u || low >= 0xE000u)
            return unexpected("the second half of a surrogate pair before this");
        code = 0x10000u + ((code - 0xD800u) << 10) + (low - 0xDC00u);
    }
    append_utf8(value, code);
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> json_cursor::unit(std::uint32_t& code) {
    if (at_ == text_.size() || text_[at_] != 'u') return unexpected("'u' after a backslash");
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        std::uint32_t value = 16;
        if (c >= '0' && c <= '9') value = static_cast<std::uint32_t>(c - '0');
        if (c >= 'a' && c <= 'f') value = static_cast<std::uint32_t>(c - 'a' + 10);
        if (c >= 'A' && c <= 'F') value = static_cast<std::uint32_t>(c - 'A' + 10);
        if (value == 16) return unexpected("four hexadecimal digits after \\u");
        code = code << 4 | value;
    }
    return std::nullopt;
}

}  // namespace sotto::detail::checkpoint
