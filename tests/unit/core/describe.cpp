#include "sotto/core/describe.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <regex>
#include <string>

namespace {
struct inner {
    double density = 0.001;
    std::optional<double> decay{};
    void describe(auto&& field) const {
        field("density", density);
        field("decay", decay);
    }
};
struct outer {
    inner part{};
    bool on = true;
    int count = -3;
    void describe(auto&& field) const {
        field("part", part);
        field("on", on);
        field("count", count);
    }
};
struct silent {};
}  // namespace

TEST_CASE("options describe themselves as lines of names and values") {
    sotto::detail::description text;
    text.add("policy", outer{}).add("other", silent{}).add("word", "x");
    const std::string expected =
        "policy = outer\n"
        "policy.part = inner\n"
        "policy.part.density = 0.001\n"
        "policy.part.decay = unset\n"
        "policy.on = true\n"
        "policy.count = -3\n"
        "other = silent\n"
        "word = x\n";
    // Without the namespaces around this test's types, which compilers spell each in their own way.
    CHECK(std::regex_replace(text.text(), std::regex("= .*::"), "= ") == expected);
}

TEST_CASE("description: an end of line in a name or value -> begins no line of its own") {
    sotto::detail::description text;
    text.add("tensor a\nseed", std::string("1\nrate = 0\n"));
    CHECK(text.text() == "tensor a\\nseed = 1\\nrate = 0\\n\n");
}
