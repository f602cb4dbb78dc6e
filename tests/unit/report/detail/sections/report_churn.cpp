#include "sotto/report/detail/sections/report_churn.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/made_up_run.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up, testing::page;

TEST_CASE("the report draws how much predictions change, each beside the first") {
    std::vector<run_log> runs{made_up("alone", 20, 1.0, 0.9), made_up("taught", 20, 1.0, 0.9),
                              made_up("other", 20, 1.0, 0.9)};
    CHECK_FALSE(has(page(runs), "predictions change"));
    runs[0].churns.push_back({"the same again", {.difference = 0.05, .flips = 0.08}});
    runs[1].churns.push_back({"the same again", {.difference = 0.03, .flips = 0.06}});
    runs[1].churns.push_back({"<script>", {.difference = 0.0, .flips = 0.12}});
    const std::string text = page(runs);
    CHECK(fault_of(text) == "");
    for (const char* part :
         {"<h2>How much predictions change</h2>",
          "alone and the same again</div><div class=\"bar\"><span class=\"f0\" "
          "style=\"width:66.67%\"></span></div><div>8.0\u202f%</div></div>",
          "taught and the same again</div><div class=\"bar\"><span class=\"f1\" "
          "style=\"width:50.00%\"></span></div><div>6.0\u202f%, 25\u202f% less</div></div>",
          "<div>12.0\u202f%, 50\u202f% more</div></div>",
          "style=\"width:60.00%\"></span></div><div>0.0300, 40\u202f% less</div></div>",
          "taught and &lt;script&gt;</div><div class=\"bar\"></div><div>0, 100\u202f% less</div>"})
        CHECK_MESSAGE(has(text, part), part);
    CHECK_FALSE(has(text, "other and"));
}

TEST_CASE("many churns make no large page, and two that are none no comparison") {
    run_log run = made_up("run", 20, 1.0, 0.9);
    for (int i = 0; i < 300; ++i) run.churns.push_back({"b", {}});
    const std::string text = sotto::detail::reporting::churn_section({&run, 1});
    CHECK(text.size() < 50'000);
    CHECK(has(text, "and 200 more"));
    CHECK_FALSE(has(text, "less"));
}
