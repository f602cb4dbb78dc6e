#include "sotto/core/describe.hpp"

#include <doctest/doctest.h>

#include <optional>

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
    sotto::description text;
    text.add("policy", outer{}).add("other", silent{}).add("word", "x");
    const std::string expected =
        "policy = {anonymous}::outer\n"
        "policy.part = {anonymous}::inner\n"
        "policy.part.density = 0.001\n"
        "policy.part.decay = unset\n"
        "policy.on = true\n"
        "policy.count = -3\n"
        "other = {anonymous}::silent\n"
        "word = x\n";
    std::string found = text.text();  // clang spells the namespace otherwise
    for (auto at = found.find("(anonymous namespace)"); at != found.npos;
         at = found.find("(anonymous namespace)"))
        found.replace(at, 21, "{anonymous}");
    CHECK(found == expected);
}
