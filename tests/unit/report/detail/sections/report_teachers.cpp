#include "sotto/report/detail/sections/report_teachers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/made_up_run.hpp"
#include "support/taught_run.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up, testing::page, testing::taught_run;

namespace {

std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
    return count;
}

/// A run with one step that these taught.
run_log one_step(std::span<const detail::teacher_status> standings, int heard) {
    run_log log;
    log.name = "one";
    log.begin({.world_size = 4, .model = "group-0", .model_ranks = 2});
    log.add(run_log::step{.number = 1,
                          .loss = 1.0,
                          .costs = {.compute = 1.0},
                          .taught = {.teachers = heard, .weight = 1.0, .standings = standings}});
    return log;
}

}  // namespace

TEST_CASE("the report says in a sentence what became of teachers, draws it and lists them") {
    const std::string text = page({taught_run(600), made_up("dense", 20, 1.0, 0.9)});
    CHECK(fault_of(text) == "");
    for (const char* part :
         {"<h2>What teachers taught</h2>",
          "<b>taught</b>, which trains group-0: Group 1&#39;s models were heard in all "
          "550 steps "
          "since step 51, on average 24.5 steps old. Group 2&#39;s models were heard in 91 % of "
          "them, on average 24.5 steps old, and left out at steps 401 to 450: not finite.</p>",
          "Loss by labels, and by what teachers say", ">labels</text>", ">teachers</text>",
          "Labels for which teachers say the same", "Steps since the oldest model that was heard",
          "At most 49.", "What each teacher weighs beside the labels", ">group 1</text>",
          ">group 2</text>", ">not finite</text>",
          "<title>group 2 left out at steps 401 to 450: not finite</title>",
          "Of the 550 steps in which a teacher could be heard, from step 51 on",
          "<tr><th>group 1</th><td>550</td><td>51</td><td>100.0\u202f%</td><td>24.5</"
          "td><td>0.502</td><td class=\"text\">never</td></tr>",
          "<tr><th>group 2</th><td>550</td><td>51</td><td>90.9\u202f%</td><td>24.5</td>",
          "<td class=\"text\">not finite once, 50 steps</td></tr>",
          "<th>trains</th><td class=\"text\">group-0</td>"})
        CHECK_MESSAGE(has(text, part), part);
    CHECK(has(page({taught_run(600)}), "Other models taught it in 92 % of the 600 steps."));
    const std::string without = page({made_up("dense", 20, 1.0, 0.9)});
    for (const char* part : {"What teachers taught", "teachers", "Other models", "trains"})
        CHECK_MESSAGE(!has(without, part), part);
}

TEST_CASE("what teachers' passes forward cost is a part of computing, here and in a step's time") {
    // All steps have teachers but 50 of 600: 550 / 600 x 2 ms beside 3.
    const std::string text = page({taught_run(600)});
    CHECK(
        has(text,
            "A step computed for 4.83\u202fms, of which teachers’ passes forward took "
            "<b>1.83\u202fms</b> and what is the student’s own 3\u202fms: with teachers computing "
            "takes <b>1.61\u202f×</b> as long as without."));
    CHECK(has(text, "title=\"compute 3\u202fms\">compute</span>"));
    CHECK(has(text, "title=\"teachers 1.83\u202fms\">teachers</span>"));
    CHECK(has(text, "<th>compute</th><th>teachers</th><th>compress</th>"));
    CHECK(has(text, "<td>3\u202fms</td><td>1.83\u202fms</td><td>0\u202fs</td>"));
    CHECK(has(text, "</i>teachers</span>"));
    // Of epochs the last one tells in which somebody was heard.
    run_log by_epochs = taught_run(600);
    for (const double listening : {0.0, 4.0, 0.0}) {
        const auto number = std::ssize(by_epochs.epochs) + 1;
        by_epochs.add(run_log::finished_epoch{.epoch = number,
                                              .step = 600 + 10 * number,
                                              .costs = {.compute = 10.0, .listening = listening}});
    }
    CHECK(has(page({by_epochs}),
              "In epoch 2 a step computed for 1\u202fs, of which teachers’ passes forward took "
              "<b>400\u202fms</b> and what is the student’s own 600\u202fms"));
    // Teachers are heard by the clock on the wall, and simulated steps take none of its time.
    run_log simulated = taught_run(600);
    simulated.about.simulated_network = "1 Gbit/s";
    const std::string of_simulated = page({simulated});
    CHECK_FALSE(has(of_simulated, "passes forward took"));
    CHECK(has(of_simulated, "title=\"compute 4.83\u202fms\">compute</span>"));
}

TEST_CASE("teachers left out at the end: among the diagnostics; one never received: not") {
    CHECK(has(page({taught_run(420)}),
              "<span class=\"bad\">taught</span>: group 2 is left out from step 401 on: not "
              "finite</li>"));
    CHECK_FALSE(has(page({taught_run(600)}), "is left out from step"));
    CHECK_FALSE(has(page({taught_run(40)}), "is left out from step"));
}

TEST_CASE("own publications: in a sentence, and what prevents them among the diagnostics") {
    run_log run = taught_run(60);
    const auto add = [&](std::int64_t step, detail::taught_report round) {
        run.add(run_log::step{.number = step, .taught = round});
    };
    add(61, {.bytes_sent = 4096, .skipped = 2});
    CHECK(has(page({run}),
              "<p>It published 4 KiB of models of its own. 2 were left out, for the one before was "
              "still under way.</p>"));
    CHECK_FALSE(has(page({run}), "no model is published"));
    add(62, {.problem = "<full>"});
    const std::string text = page({run});
    CHECK(fault_of(text) == "");
    CHECK(has(text, "None is published from step 62 on: &lt;full&gt;.</p>"));
    CHECK(has(text, "no model is published from step 62 on: &lt;full&gt;</li>"));
    CHECK_FALSE(has(page({taught_run(60)}), "of its own"));
}

TEST_CASE("of teachers that nobody heard there are no curves") {
    const run_log run = taught_run(40);
    const std::string text = page({run});
    CHECK(fault_of(text) == "");
    CHECK(has(text, "No other model was heard: there was none yet."));
    CHECK(sotto::detail::reporting::taught_losses(run).empty());
    CHECK(sotto::detail::reporting::agreement_chart(run).empty());
    CHECK(sotto::detail::reporting::age_chart(run).empty());
    CHECK(sotto::detail::reporting::weights_chart(run).empty());
    CHECK(has(text, "<tr><th>group 2</th><td>–</td><td>–</td><td>–</td><td>–</td><td>–</td>"));
}

TEST_CASE("losses that differ from step to step are drawn faint, with their means over them") {
    const std::string few = sotto::detail::reporting::taught_losses(taught_run(70)),
                      many = sotto::detail::reporting::taught_losses(taught_run(600));
    CHECK(count_of(few, " faint\"") == 1);  // 70 by labels, 20 by teachers
    CHECK(count_of(many, " faint\"") == 2);
    std::vector<sotto::detail::reporting::taken> values;
    for (std::int64_t s = 1; s <= 1000; ++s)
        values.push_back({s, 0.0, 0.0, static_cast<double>(s % 20)});
    const auto means = sotto::detail::reporting::means_of(values);
    REQUIRE(means.size() == 50);
    for (const auto& mean : means) CHECK(mean.each == doctest::Approx(9.5));
    CHECK(means.back().last_step == 1000);
    values.resize(29);
    CHECK(sotto::detail::reporting::means_of(values).size() == 29);
}

TEST_CASE("teachers that are ahead are drawn below zero") {
    std::vector<detail::teacher_status> standings{
        {.group = 1, .step = 30, .why = detail::left_out::no}};
    run_log log;
    log.begin({});
    for (std::int64_t s = 1; s <= 20; ++s)
        log.add(run_log::step{.number = s,
                              .taught = {.teachers = 1, .age = s - 31, .standings = standings}});
    CHECK(has(sotto::detail::reporting::age_chart(log), ">-30</text>"));
    CHECK(has(page({log}), "on average 20.5 steps ahead."));
}

TEST_CASE("text from outside stays text, and many teachers make no large page") {
    std::array<detail::teacher_status, 1> hostile{detail::teacher_status{
        .group = 1, .why = detail::left_out::unreadable, .details = "<script>&\""}};
    run_log log = one_step(hostile, 0);
    log.name = log.about.model = "<script>&\"";
    std::string text = page({log});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "<script"));
    CHECK(has(text, "&lt;script&gt;&amp;&quot;"));

    std::vector<detail::teacher_status> all;
    for (int group = 0; group < 4000; ++group)
        all.push_back({.group = group, .step = 0, .why = detail::left_out::no});
    text = page({one_step(all, 4000)});
    CHECK(fault_of(text) == "");
    CHECK(text.size() < (1u << 17));
    CHECK(has(text, "The weights of 3993 more teachers are not drawn."));
    CHECK(has(text, "<th>and 3900 more</th>"));
    CHECK(page({taught_run(100'000)}).size() < (1u << 19));
    const std::vector<run_log> runs(14, taught_run(60));
    CHECK(has(sotto::detail::reporting::teachers_section(runs), "and 2 more runs"));
}

TEST_CASE("losses that are no numbers leave a page whole") {
    std::array<detail::teacher_status, 1> standings{
        detail::teacher_status{.group = 1, .step = 0, .why = detail::left_out::no}};
    run_log log;
    log.begin({});
    for (std::int64_t s = 1; s <= 50; ++s)
        log.add(run_log::step{.number = s,
                              .loss = std::nan(""),
                              .taught = {.teachers = 1,
                                         .distillation_loss = s % 2 == 0 ? std::nan("") : 1e300,
                                         .agreement = std::nan(""),
                                         .standings = standings}});
    CHECK(fault_of(page({log})) == "");
}
