#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace sotto::testing {

/// The text has the lines of a file beside this one, as `today` makes them, and no others.
inline void check_lines(
    const std::string& text, const char* file_name,
    std::string (*today)(std::string_view) = [](std::string_view line) {
        return std::string(line);
    }) {
    std::ifstream file(std::filesystem::path(__FILE__).replace_filename(file_name));
    REQUIRE(file.is_open());
    std::istringstream found(text);
    std::string expected, line;
    for (int number = 1; std::getline(file, expected); ++number) {
        CAPTURE(number);
        REQUIRE(std::getline(found, line));
        CHECK(line == today(expected));
    }
    CHECK_FALSE(std::getline(found, line));
}

}  // namespace sotto::testing
