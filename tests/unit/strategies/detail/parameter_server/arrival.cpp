#include "sotto/strategies/detail/parameter_server/arrival.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace sotto;

namespace {

std::vector<detail::arrival> all_kinds() {
    return {{.kind = detail::arrival_kind::begins, .at = 0, .worker = 3},
            {.kind = detail::arrival_kind::gradient,
             .at = 12345,
             .worker = 0,
             .round = 7,
             .read = 20,
             .version = 22,
             .digest = 0x00c0ffee12345678},
            {.kind = detail::arrival_kind::dropped,
             .at = std::int64_t{1} << 62,
             .worker = 16777216,
             .round = std::int64_t{1} << 62,
             .digest = ~std::uint64_t{0}},
            {.kind = detail::arrival_kind::done, .at = 1, .worker = 12},
            {.kind = detail::arrival_kind::went, .at = 1, .worker = 1},
            {.kind = detail::arrival_kind::answers, .at = 99},
            {.kind = detail::arrival_kind::answers, .at = 99, .answered = {2, 0, 5}}};
}

}  // namespace

TEST_CASE("an arrival is a line of words, and is read as it was written") {
    const auto all = all_kinds();
    CHECK(text_of(all[0]) == "0 begins 3");
    CHECK(text_of(all[1]) == "12345 gradient 0 7 20 22 00c0ffee12345678");
    CHECK(text_of(all[3]) == "1 done 12");
    CHECK(text_of(all[5]) == "99 answers");
    CHECK(text_of(all[6]) == "99 answers 2 0 5");
    for (const detail::arrival& a : all) {
        const auto read = detail::read_arrival(text_of(a));
        REQUIRE(read);
        CHECK(*read == a);
    }
}

TEST_CASE("every line that is cut off, longer or has another letter is refused or another one") {
    for (const detail::arrival& a : all_kinds()) {
        const std::string line = text_of(a);
        for (std::size_t end = 0; end < line.size(); ++end) {
            const auto read = detail::read_arrival(line.substr(0, end));
            if (read) CHECK(text_of(*read) == line.substr(0, end));
        }
        CHECK_FALSE(detail::read_arrival(line + " "));
        CHECK_FALSE(detail::read_arrival(line + " x"));
        CHECK_FALSE(detail::read_arrival(" " + line));
    }
}

TEST_CASE("what is no arrival is refused at its place") {
    const auto why = [](const char* line) { return detail::read_arrival(line).why().text(); };
    CHECK(why("") == "at byte 0 expected nanoseconds, found the end");
    CHECK(why("-1 done 0") == "at byte 0 expected nanoseconds, found 45");
    CHECK(why("01 done 0") == "at byte 0 expected nanoseconds, found 48");
    CHECK(why("1 Done 0") == "at byte 2 expected a kind of arrival, found 68");
    CHECK(why("1 done") == "at byte 7 expected a worker, found the end");
    CHECK(why("1 done 16777217") == "at byte 7 expected a worker, found 49");
    CHECK(why("1 done 0 0") == "at byte 9 expected the end, found 48");
    CHECK(why("1 gradient 0 1 2 3") == "at byte 19 expected 16 hexadecimal digits, found the end");
    CHECK(why("1 gradient 0 1 2 3 00C0ffee12345678") ==
          "at byte 19 expected 16 hexadecimal digits, found 48");
    CHECK(why("9223372036854775808 done 0") == "at byte 0 expected nanoseconds, found 57");
}
