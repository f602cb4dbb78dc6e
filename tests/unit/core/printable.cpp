#include "sotto/core/printable.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace {

TEST_CASE("printable: a text that forges a line -> one line without control characters") {
    CHECK(sotto::printable("ok\nrank 9 failed: lies") == "ok\\nrank 9 failed: lies");
    CHECK(sotto::printable("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07");
    CHECK(sotto::printable("a\tb\rc\x7f") == "a\\tb\\rc\\x7f");
    CHECK(sotto::printable(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("printable: characters that change direction or end lines -> bytes as escapes") {
    CHECK(sotto::printable("\u202eevil\u2069") == "\\xe2\\x80\\xaeevil\\xe2\\x81\\xa9");
    CHECK(sotto::printable("a\u2028b") == "a\\xe2\\x80\\xa8b");
    CHECK(sotto::printable("\u009b1m") == "\\xc2\\x9b1m");
}

TEST_CASE("printable: bytes that are not UTF-8 -> escapes, one for each byte") {
    CHECK(sotto::printable("\xff\x41") == "\\xffA");
    CHECK(sotto::printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong
    CHECK(sotto::printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
    CHECK(sotto::printable("\xe2\x82") == "\\xe2\\x82");           // cut off
    const std::string_view euro = "\xe2\x82\xac";
    CHECK(sotto::printable(euro.substr(0, 2)) == "\\xe2\\x82");  // the rest is not the text's
    CHECK(sotto::printable("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
    // The last overlong forms and the first code point beyond Unicode, and what lies beside them.
    CHECK(sotto::printable("\xe0\x9f\xbf") == "\\xe0\\x9f\\xbf");
    CHECK(sotto::printable("\xf0\x8f\xbf\xbf") == "\\xf0\\x8f\\xbf\\xbf");
    CHECK(sotto::printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    for (const std::string text : {"\u0800", "\U00010000", "\U0010ffff", "\ud7ff", "\ue000"})
        CHECK(sotto::printable(text) == text);
}

TEST_CASE("printable: the ends of each range of characters that act -> escapes") {
    for (const std::string text : {"\x1f", "\x7f", "\u0080", "\u009f", "\u061c", "\u200e", "\u200f",
                                   "\u2028", "\u202e", "\u2066", "\u2069", "\ufeff"}) {
        CAPTURE(text.size());
        CHECK(sotto::printable(text).substr(0, 2) == "\\x");
    }
    for (const std::string text : {" ", "~", "\u00a0", "\u061b", "\u061d", "\u200d", "\u2010",
                                   "\u2027", "\u202f", "\u2065", "\u206a", "\ufefe", "\uff01"})
        CHECK(sotto::printable(text) == text);
}

TEST_CASE("printable: ordinary text -> unchanged") {
    for (const std::string text : {"", "plain", "C:\\path 'quoted'", "Zürich, 東京, \U0001f600"})
        CHECK(sotto::printable(text) == text);
}

}  // namespace

TEST_CASE("printable_lines: several lines -> stay lines, each escaped") {
    CHECK(sotto::printable_lines("a\x1b\nb\r\n") == "a\\x1b\nb\\r\n");
    CHECK(sotto::printable_lines("").empty());
}

TEST_CASE("is_utf8: sequences that are valid, overlong, cut off or surrogates -> as defined") {
    using sotto::detail::is_utf8;
    CHECK(is_utf8(""));
    CHECK(is_utf8("conv1.weight\n\x7f"));
    CHECK(is_utf8("gr\xc3\xb6\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"));
    for (const char* other :
         {"\xff", "a\xe9", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "\xf4\x90\x80\x80"})
        CHECK_FALSE(is_utf8(other));
}
