#include "sotto/core/detail/text/number_text.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include "support/decimal_comma.hpp"

using sotto::detail::fixed_text, sotto::detail::general_text;

TEST_CASE("fixed_text, general_text: any number -> as printf writes it in the C locale") {
    for (const double value : {0.0, -0.0, 0.5, 1.0 / 3.0, -2.675, 123456.789, 1e-7, 2e4, 1e22,
                               std::numeric_limits<double>::max(), 5e-324}) {
        std::array<char, 400> text;
        std::snprintf(text.data(), text.size(), "%.4f", value);
        CHECK(fixed_text(value, 4) == text.data());
        for (const int digits : {4, 6, 17}) {
            std::snprintf(text.data(), text.size(), "%.*g", digits, value);
            CHECK(general_text(value, digits) == text.data());
        }
    }
}

TEST_CASE("fixed_text: no finite number -> a word without a sign of nan") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(fixed_text(nan, 4) == "nan");
    CHECK(fixed_text(-nan, 4) == "nan");
    CHECK(general_text(std::copysign(nan, -1.0), 4) == "nan");
    CHECK(fixed_text(-std::numeric_limits<double>::infinity(), 1) == "-inf");
}

TEST_CASE("fixed_text: a locale with a decimal comma -> a point all the same") {
    const sotto::testing::decimal_comma locale;
    if (!locale.is_set()) return;
    CHECK(fixed_text(0.5, 4) == "0.5000");
    CHECK(general_text(0.5, 4) == "0.5");
}

TEST_CASE("read_number: a whole text -> its number; anything else -> refused") {
    int number = 0;
    CHECK((sotto::detail::read_number("-12", number) && number == -12));
    for (const char* text : {"", " 1", "1 ", "+1", "12x", "1.5", "0x10", "99999999999"})
        CHECK_FALSE(sotto::detail::read_number(text, number));
    double real = 0.0;
    CHECK((sotto::detail::read_number("0.25", real) && real == 0.25));
    CHECK((sotto::detail::read_number("inf", real) && real > 1e300));
    CHECK_FALSE(sotto::detail::read_number("0,25", real));
}
