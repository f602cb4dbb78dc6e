#include "sotto/core/detail/processes/terminal.hpp"

#include <doctest/doctest.h>

#include <string_view>

using namespace sotto::detail;

TEST_CASE("first_characters: a text -> cut between characters, not bytes") {
    constexpr std::string_view text = "a\u00e9\u4e2d\U0001f600z";
    CHECK(character_count(text) == 5);
    CHECK(first_characters(text, 0).empty());
    CHECK(first_characters(text, 1) == "a");
    CHECK(first_characters(text, 3) == "a\u00e9\u4e2d");
    CHECK(first_characters(text, 5) == text);
    CHECK(first_characters(text, 99) == text);
    CHECK(character_count("\xff\xc3") == 2);  // no UTF-8: a character each
}
