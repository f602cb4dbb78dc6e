#include "sotto/core/detail/text/print_line.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace {

struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

template <class Print>
std::string printed(Print print) {
    const std::unique_ptr<std::FILE, closer> file(std::tmpfile());
    REQUIRE(file);
    print(file.get());
    std::rewind(file.get());
    std::array<char, 256> text{};
    return {text.data(), std::fread(text.data(), 1, text.size(), file.get())};
}

}  // namespace

TEST_CASE("print_line: a text with controls -> one line without them") {
    CHECK(printed([](std::FILE* out) {
              sotto::detail::print_line(out, "ok\nrank 9 failed: lies\x1b[2J");
          }) == "ok\\nrank 9 failed: lies\\x1b[2J\n");
}

TEST_CASE("print_lines: a text of lines -> a printed line each") {
    const auto lines = [](const char* text) {
        return printed([&](std::FILE* out) { sotto::detail::print_lines(out, text); });
    };
    CHECK(lines("").empty());
    CHECK(lines("one\ntwo\r\n") == "one\ntwo\\r\n");
    CHECK(lines("one\n\ntwo") == "one\n\ntwo\n");
}
