#include "sotto/data/vocabulary.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"

using sotto::data::vocabulary;
using ids = std::vector<std::uint8_t>;
using namespace std::string_view_literals;

TEST_CASE("characters are numbered in the order of their values, whatever the order of the text") {
    const vocabulary known("banana");
    CHECK(known.size() == 3);
    CHECK(known.character(0) == 'a');
    CHECK(known.character(1) == 'b');
    CHECK(known.character(2) == 'n');
    CHECK(*known.encode("nab") == ids{2, 0, 1});
    CHECK(known.encode("")->empty());
    CHECK(known == vocabulary("nab"));
    CHECK_FALSE(known == vocabulary("nabs"));
    CHECK(known.contains('n'));
    CHECK_FALSE(known.contains('m'));
    CHECK_FALSE(known.contains('\0'));
}

TEST_CASE("every byte can be a character: those above 127 come last") {
    std::string all;
    for (int byte = 255; byte >= 0; --byte) all += static_cast<char>(byte);
    const vocabulary known(all);
    CHECK(known.size() == 256);
    for (int byte = 0; byte < 256; ++byte) CHECK(known.character(byte) == static_cast<char>(byte));
    CHECK(*known.encode("\0\xff"sv) == ids{0, 255});
    CHECK(*vocabulary("\xc3\xa9 \n"sv).encode("\n \xa9\xc3"sv) == ids{0, 1, 2, 3});
}

TEST_CASE("the first character that a vocabulary has not is named with its place") {
    const vocabulary known("abc");
    const auto read = known.encode("abcbXaY");
    REQUIRE_FALSE(read);
    CHECK(read.why().offset == 4);
    CHECK(std::string(read.why().expected) == "a character of the vocabulary");
    CHECK(read.why().found == 'X');
    CHECK(known.encode("\xff").why().found == 255);
    CHECK_FALSE(vocabulary("").encode("a"));
}

TEST_CASE("a number that is no character's is refused") {
    const vocabulary known("abc");
    CHECK_THROWS_WITH_AS(known.character(3),
                         "vocabulary: asked for character 3; expected 0 to 3 exclusive",
                         sotto::invalid_option);
    CHECK_THROWS_AS(known.character(-1), sotto::invalid_option);
    CHECK_THROWS_AS(vocabulary("").character(0), sotto::invalid_option);
}
