#include "sotto/core/printable.hpp"

#include <doctest/doctest.h>

#include <string>

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
    CHECK(sotto::printable("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
}

TEST_CASE("printable: ordinary text -> unchanged") {
    for (const std::string text : {"", "plain", "C:\\path 'quoted'", "Zürich, 東京, \U0001f600"})
        CHECK(sotto::printable(text) == text);
}

}  // namespace
