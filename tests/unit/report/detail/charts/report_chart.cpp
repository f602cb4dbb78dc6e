#include "sotto/report/detail/charts/report_chart.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/report/detail/charts/report_axis.hpp"

using namespace sotto::reporting;

namespace {

/// Where names are written, from the top.
std::vector<double> heights(const std::string& svg) {
    std::vector<double> found;
    constexpr std::string_view begin = "<text class=\"n ";
    for (std::size_t at = 0; (at = svg.find(begin, at)) != svg.npos; ++at)
        found.push_back(std::strtod(svg.c_str() + svg.find(" y=\"", at) + 4, nullptr));
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

TEST_CASE("names of lines that end together lie apart, inside the chart, wherever they end") {
    for (const double level : {0.0, 0.5, 1.0}) {
        sotto::detail::reporting::chart c("Several runs",
                                          sotto::detail::reporting::linear_axis(0.0, 10.0), "steps",
                                          sotto::detail::reporting::linear_axis(0.0, 1.0));
        for (std::size_t i = 0; i < 8; ++i) c.name({10.0, level}, "run", i);
        const std::vector<double> found = heights(c.svg(""));
        REQUIRE(found.size() == 8);
        CHECK(found.front() >= 34.0);
        CHECK(found.back() <= 208.0);
        for (std::size_t i = 1; i < 8; ++i) CHECK(found[i] - found[i - 1] >= 12.9);
    }
}

TEST_CASE("keys of a chart lie above it, one after the other") {
    sotto::detail::reporting::chart c("Distances", sotto::detail::reporting::linear_axis(0.0, 10.0),
                                      "steps", sotto::detail::reporting::linear_axis(0.0, 1.0));
    c.key("distance", 0);
    c.key("estimate", 1);
    const std::string text = c.svg("");
    CHECK(heights(text) == std::vector<double>{24.5, 24.5});
    CHECK(text.find(">distance</text>") < text.find(">estimate</text>"));
}
