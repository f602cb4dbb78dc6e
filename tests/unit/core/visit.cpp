#include "sotto/core/visit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace sotto;

TEST_CASE("names are joined, short and very long ones") {
    const std::string long_name(200, 'x');
    CHECK(std::string_view(joined_name("control/", "norm")) == "control/norm");
    CHECK(std::string_view(joined_name("", "")).empty());
    CHECK(std::string_view(joined_name("a/", long_name)) == "a/" + long_name);
    const std::string just(118, 'y');
    CHECK(std::string_view(joined_name("a/", just)) == "a/" + just);
}
