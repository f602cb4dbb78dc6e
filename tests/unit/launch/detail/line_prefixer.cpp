#include "sotto/launch/detail/line_prefixer.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

using sotto::detail::launch::line_prefixer;

namespace {

/// What comes out of a text in pieces that end where `cuts` say, in turn.
std::string in_two_pieces(std::string_view text, std::size_t first, std::size_t second) {
    line_prefixer lines("[3] ");
    std::string out;
    lines.take(text.substr(0, first), out);
    lines.take(text.substr(first, second - first), out);
    lines.take(text.substr(second), out);
    lines.finish(out);
    return out;
}

}  // namespace

TEST_CASE("a text gets the same prefixes, wherever it is cut into pieces") {
    const std::string_view text = "one\n\ntwo\r\nthree";
    for (std::size_t first = 0; first <= text.size(); ++first)
        for (std::size_t second = first; second <= text.size(); ++second)
            CHECK(in_two_pieces(text, first, second) == "[3] one\n[3] \n[3] two\r\n[3] three\n");
}

TEST_CASE("a line comes out when it ends, and not before") {
    line_prefixer lines("> ");
    std::string out;
    lines.take("half", out);
    CHECK(out.empty());
    lines.take(" a line\nnext", out);
    CHECK(out == "> half a line\n");
    lines.finish(out);
    CHECK(out == "> half a line\n> next\n");
    lines.finish(out);
    CHECK(out == "> half a line\n> next\n");
}

TEST_CASE("of nothing comes nothing") {
    line_prefixer lines("> ");
    std::string out;
    lines.take("", out);
    lines.finish(out);
    CHECK(out.empty());
}

TEST_CASE("a line too long is cut, and loses nothing") {
    constexpr std::size_t most = line_prefixer::line_bytes_max;
    const std::string fits(most, 'a'), longer(2 * most + 3, 'b');
    for (const std::size_t piece : {std::size_t{1000}, most - 1, most, most + 1, 5 * most}) {
        line_prefixer lines(">");
        const std::string text = fits + "\n" + longer + "\nc\n";
        std::string out;
        for (std::size_t at = 0; at < text.size(); at += piece)
            lines.take(std::string_view(text).substr(at, piece), out);
        lines.finish(out);
        const std::string whole(most, 'b');
        CHECK(out == ">" + fits + "\n>" + whole + "\n>" + whole + "\n>bbb\n>c\n");
    }
}
