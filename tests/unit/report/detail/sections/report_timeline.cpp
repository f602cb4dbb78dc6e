#include "sotto/report/detail/sections/report_timeline.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/logging/merge_rank_logs.hpp"
#include "support/made_up_run.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// A rank whose steps take so long one after the other, two tenths of it waiting.
run_log steps_of(int rank, double from, const std::vector<double>& took) {
    run_log log;
    log.name = "ranks";
    log.begin({.rank = rank, .world_size = 2});
    double now = 0.0;
    std::int64_t number = 0;
    for (const double each : took) {
        log.add(run_log::step{.number = ++number,
                              .seconds = now + each,
                              .costs = {.examples = 1, .compute = 0.8 * each, .wait = 0.2 * each},
                              .clock = from + now});
        now += each;
    }
    log.end(now, false);
    return log;
}

std::size_t count(const std::string& text, const char* what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++found;
    return found;
}

}  // namespace

TEST_CASE("the timeline begins when all have done a few steps, and shows some of the slowest") {
    // The slow rank takes 60 s to start up, in which the fast one does 60 steps.
    std::vector<double> slow(20, 8.0);
    slow[0] = 60.0;
    const run_log run = merge_rank_logs(
        {steps_of(0, 50.0, std::vector<double>(400, 1.0)), steps_of(1, 50.0, slow)});
    const sotto::detail::reporting::timeline_chart chart(run);
    const std::string svg = chart.svg("ranks");
    CHECK(fault_of(svg) == "");
    CHECK_FALSE(has(svg, "of step 1:"));
    CHECK(chart.length() == doctest::Approx(4.0 * (60.0 + 19.0 * 8.0) / 20.0));
    CHECK(count(svg, "compute of step 4:") == 1);  // of the slow one: its first three are past
    CHECK(count(svg, "compute of step 8:") == 1);
    CHECK(count(svg, "compute of step 77:") == 1);  // of the fast one, at the same time
}

TEST_CASE("a rank that died early ends its row, not the drawing") {
    const run_log run = merge_rank_logs({steps_of(0, 10.0, std::vector<double>(200, 1.0)),
                                         steps_of(1, 10.0, std::vector<double>(7, 1.0))});
    const sotto::detail::reporting::timeline_chart chart(run);
    CHECK(chart.length() == doctest::Approx(24.0));
    const std::string svg = chart.svg("ranks");
    CHECK(count(svg, "compute of step 7:") == 2);
    CHECK(count(svg, "compute of step 20:") == 1);
}

TEST_CASE("what is cut off by the drawing's edge says how long it took in truth") {
    const run_log run = merge_rank_logs({steps_of(0, 0.0, std::vector<double>(300, 1.0)),
                                         steps_of(1, 0.5, std::vector<double>(300, 1.0))});
    const std::string svg = sotto::detail::reporting::timeline_chart(run).svg("ranks");
    CHECK(has(svg, "compute of step 4: 800\u202fms</title>"));
    for (const char* part : {": 300\u202fms", ": 500\u202fms", ": 100\u202fms"})
        CHECK_MESSAGE(!has(svg, part), part);
}

TEST_CASE("each row says what share of its steps' time the rank waited") {
    run_log idle = steps_of(1, 0.0, {1.0, 1.0, 1.0, 1.0});
    idle.timeline.waited = 3.84;
    const run_log run = merge_rank_logs({steps_of(0, 0.0, {1.0, 1.0, 1.0, 1.0}), idle});
    const std::string text = page({run});
    CHECK(has(text, ">waited 20\u202f%</text>"));
    CHECK(has(text, ">waited 96\u202f%</text>"));
    CHECK(has(text, "rank 1 waited for 96\u202f% of its steps’ time, rank 0 for 20\u202f%."));
}
