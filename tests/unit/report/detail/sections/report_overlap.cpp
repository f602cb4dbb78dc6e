#include "sotto/report/detail/sections/report_overlap.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/report/report.hpp"
#include "support/made_up_run.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up, testing::page;

namespace {

/// A run that tells of one round: w was under way from 2 to 6 ms, b from 1 to 3; all sent at 2.
run_log with_round(std::string name) {
    run_log log = made_up(std::move(name), 40, 1.0, 0.9);
    log.typical_round = detail::round_times{
        .step = 37,
        .agreed = 0.008,
        .ended = 0.010,
        .apply = 0.002,
        .tensors = {{0.002, 0.002, 0.006, 0.007}, {0.0005, 0.001, 0.003, 0.007}}};
    return log;
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
    return found;
}

}  // namespace

TEST_CASE("one round is drawn to scale, and a sentence says how much of the exchange was hidden") {
    run_log log = with_round("dense");
    log.epochs.back().costs.exchange = 4 * 0.005;  // of the last epoch's four steps
    log.epochs.back().costs.hidden = 4 * 0.003;
    const std::string text = page({log});
    CHECK(fault_of(text) == "");
    CHECK(has(text, "<h2>Overlap</h2>"));
    CHECK(
        has(text,
            "<b>dense</b>: <b>60\u202f%</b> of the exchange was hidden: of the 5\u202fms a step in "
            "which something was under way, the worker computed and compressed for 3\u202fms. "
            "Below is step 37, of median length of the last in its epoch; of it 20\u202f% was "
            "hidden."));
    // 656 units are 10 ms: a tenth of it is 65.6.
    CHECK(has(text,
              "<rect class=\"c0\" x=\"190.0\" y=\"22.5\" width=\"32.8\" height=\"14.0\">"
              "<title>compute b: 500\u202fµs from 0\u202fs on</title></rect>"));
    CHECK(has(text,
              "<rect class=\"c1\" x=\"222.8\" y=\"22.5\" width=\"32.8\" height=\"14.0\">"
              "<title>compress b: 500\u202fµs from 500\u202fµs on</title></rect>"));
    CHECK(has(text, "<title>compute w: 1\u202fms from 1\u202fms on</title>"));
    CHECK(has(text, "<title>decode w: 1\u202fms from 6\u202fms on</title>"));
    CHECK(has(text, "<title>apply: 2\u202fms from 8\u202fms on</title>"));
    CHECK(has(text, "<rect class=\"c6\" x=\"255.6\" y=\"41.5\" width=\"131.2\" height=\"14.0\">"));
    CHECK(has(text, "<rect class=\"c6\" x=\"321.2\" y=\"60.5\" width=\"262.4\" height=\"14.0\">"));
    CHECK(has(text, "all sent"));
}

TEST_CASE("runs that have nothing to exchange, or tell of no round, have no section") {
    CHECK_FALSE(has(page({made_up("a", 40, 1.0, 0.9)}), "Overlap"));
    run_log alone = with_round("alone");
    alone.about.world_size = 1;
    CHECK_FALSE(has(page({alone}), "Overlap"));
    run_log other_model = with_round("other");
    other_model.typical_round->tensors.pop_back();
    CHECK_FALSE(has(page({other_model}), "Overlap"));
    run_log timeless = with_round("timeless");
    timeless.typical_round->ended = 0.0;
    CHECK_FALSE(has(page({timeless}), "Overlap"));
    CHECK(count(page({alone, with_round("x"), with_round("y")}), "class=\"wide\"") == 2);
    CHECK(count(page(std::vector<run_log>(9, with_round("x"))), "class=\"wide\"") == 6);
}

TEST_CASE("of many tensors the largest are drawn each, the others together, in a bounded space") {
    run_log log = with_round("large");
    constexpr std::size_t tensors = 20'000;
    log.about.tensors.clear();
    log.typical_round->tensors.clear();
    for (std::size_t i = 0; i < tensors; ++i) {
        log.about.tensors.push_back({.name = "t" + std::to_string(i),
                                     .shape = {},
                                     .size = static_cast<std::int64_t>(i % 100)});
        const double at = 1e-3 * static_cast<double>(tensors - i);
        log.typical_round->tensors.push_back({at, at + 5e-4, at + 6e-4, 30.0});
    }
    log.typical_round->agreed = 31.0;
    log.typical_round->ended = 32.0;
    const std::string text = page({log});
    CHECK(fault_of(text) == "");
    const std::size_t from = text.find("<h2>Overlap"), to = text.find("<h2>What went");
    REQUIRE(from < to);
    CHECK(to - from < 600'000);
    CHECK(has(text, ">19788 smaller ones</text>"));  // of 19,800 that are not empty
    CHECK(count(std::string_view(text).substr(from, to - from), "<text class=\"t\"") < 30);
}

TEST_CASE("spans that are too short to be seen are put together, and nothing of them is lost") {
    using sotto::detail::reporting::drawn_span, sotto::detail::reporting::visible;
    const std::vector<sotto::detail::reporting::drawn_span> spans{
        {0.0, 2.0, 0, "long"}, {2.0, 2.1, 1, "a"}, {2.1, 2.4, 2, "b"},
        {2.4, 2.6, 1, "c"},    {5.0, 5.1, 1, "d"}, {5.1, 5.1, 1, "e"}};
    const auto seen = visible(spans, 1.0);
    REQUIRE(seen.size() == 3);
    CHECK(seen[0].says == "long");
    CHECK(seen[1].begin == 2.0);
    CHECK(seen[1].end == 2.6);
    CHECK(seen[1].colour == 2);  // the longest of them
    CHECK(seen[1].says == "several");
    CHECK(seen[2].says == "d");
}

TEST_CASE("names of tensors stay text in the drawing") {
    run_log log = with_round("<b>");
    log.about.tensors[0].name = "</svg><script>";
    const std::string text = page({log});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "<script"));
}
