#include "sotto/report/detail/sections/report_curves.hpp"
#include "sotto/report/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/made_up_run.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up, testing::page;

TEST_CASE("a report says what was saved and what it cost, and its markup is whole") {
    const std::string text =
        page({made_up("dense", 200, 1.0, 0.97), made_up("dgc", 200, 0.01, 0.96)});
    CHECK(fault_of(text) == "");
    // Of 200 steps: 1.5 * 4040 bytes, against 3 * 80.
    CHECK(has(text,
              "<b>dgc</b> sent <b>25\u202f× fewer bytes</b> than <b>dense</b> "
              "(46.9\u202fKiB instead of 1.16\u202fMiB a worker)"));
    CHECK(has(text, "accuracy instead of"));
    for (const char* part :
         {"Accuracy on unseen data", "Loss while training", "Where a step’s time goes", "compress",
          "message ratio", "wire ratio", "an all-gather delivers each", "Does it pay here?",
          "Configuration and seed", "trainer.seed", "100 × 10", "most memory"})
        CHECK_MESSAGE(has(text, part), part);
}

TEST_CASE("a report needs nothing else: no script, no network") {
    const std::string text = page({made_up("dense", 50, 1.0, 0.9)});
    for (const char* part : {"<script", "http:", "https:", "src=", "@import", "url("})
        CHECK_MESSAGE(!has(text, part), part);
}

TEST_CASE("three runs of 100,000 steps make less than a mebibyte") {
    const std::string text = page({made_up("a", 100'000, 1.0, 0.9), made_up("b", 100'000, 0.1, 0.9),
                                   made_up("c", 100'000, 0.01, 0.9)});
    CHECK(text.size() < (1u << 20));
    CHECK(fault_of(text) == "");
}

TEST_CASE("the same runs give the same bytes") {
    CHECK(page({made_up("a", 300, 0.1, 0.9)}) == page({made_up("a", 300, 0.1, 0.9)}));
}

TEST_CASE("text from outside stays text") {
    const std::string evil = "</title><script>alert(1)</script>\"'&\xff\x01";
    run_log log = made_up(evil, 20, 1.0, 0.9);
    log.about.options.push_back({evil, evil});
    log.about.tensors[0].name = evil;
    log.diagnostics.push_back({3, evil});
    const std::string text = page({log, made_up("b", 20, 0.1, 0.9)}, {.title = evil});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "<script"));
    CHECK_FALSE(has(text, "\xff"));
    CHECK_FALSE(has(text, "\x01"));
    CHECK(sotto::detail::reporting::escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK(sotto::detail::reporting::escaped("é\xc3") == "é\xef\xbf\xbd");
    CHECK(sotto::detail::reporting::escaped("a\tb\nc") == "a\tb\nc");
    for (const char* const acts : {"\x1b", "\x7f", "\xc2\x9b", "\u202e", "\u2028", "\xc0\xaf"})
        CHECK(sotto::detail::reporting::escaped(acts).starts_with("\ufffd"));
    CHECK(sotto::detail::reporting::escaped(std::string(5000, 'x'), 10) == "xxxxxxxxxx…");
}

TEST_CASE("how good ranks' own models are is told and drawn beside the mean of all") {
    const auto count_of = [](const std::string& text, std::string_view part) {
        std::size_t count = 0;
        for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size())
            ++count;
        return count;
    };
    const run_log mean = made_up("gossip", 100, 1.0, 0.9);
    run_log own = mean;
    for (run_log::finished_epoch& e : own.epochs)
        e.evaluated->own = detail::own_evaluations{{0.5, 0.6, 0.7}, {0.65, 0.72, 0.775}};
    const std::string text = page({own});
    CHECK(fault_of(text) == "");
    CHECK(
        has(text, "; of ranks’ own models 65.00\u202f% to 77.50\u202f%, 72.00\u202f% on average"));
    CHECK(has(text, "</b>, of ranks’ own models 65.00\u202f%"));
    CHECK_FALSE(has(page({mean}), "own models"));
    // The least and the most, of accuracy and of loss, against steps, seconds and bytes.
    CHECK(count_of(text, " faint\"") == count_of(page({mean}), " faint\"") + 12);
}

TEST_CASE("runs without anything to draw are reported nonetheless") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(has(page({}), "There are no runs in this report."));
    run_log begun;
    begun.name = "begun";
    begun.begin({});
    CHECK(fault_of(page({begun})) == "");
    CHECK(has(page({begun}), "goes on, or was ended by force"));
    begun.about.world_size = 4;
    CHECK(has(page({begun}), "<b>begun</b>: no step was measured yet"));
    CHECK_FALSE(has(page({begun}), "fewer bytes"));
    run_log diverged;
    diverged.name = "diverged";
    diverged.begin({.world_size = 2});
    for (std::int64_t s = 1; s <= 3; ++s)
        diverged.add(run_log::step{.number = s, .loss = s == 1 ? 1e308 : nan});
    diverged.add(run_log::finished_epoch{
        .epoch = 1, .step = 3, .loss = nan, .evaluated = evaluation{nan, 0.0}});
    const std::string text = page({diverged, begun});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "nan"));
    CHECK_FALSE(has(text, "inf"));
}

TEST_CASE("diagnostics, early ends and a link are in the report") {
    run_log log = made_up("run", 40, 0.05, 0.9);
    log.diagnostics.push_back({12, "the checkpoint 'x' was not written: No space left on device"});
    log.stopped_early = true;
    const std::string text =
        page({made_up("dense", 40, 1.0, 0.9), log},
             {.link = network_link{.bytes_per_second = 1e5, .latency_seconds = 0.0}});
    CHECK(has(text, "after step 12, the checkpoint &#39;x&#39; was not written: No space"));
    CHECK(has(text, "was stopped before its time"));
    CHECK(has(text, "this link"));
    CHECK(has(text, "Use run: a step takes"));
    CHECK(has(text, "of theirs on a network of 800\u202fkbit/s between 4 workers and compressing"));
    CHECK(fault_of(text) == "");
}

TEST_CASE("a run is compared with whole gradients of as many workers on the same tensors") {
    const auto dense_of = [](std::vector<run_log> runs, std::size_t i) {
        const run_log* found = sotto::detail::reporting::dense_beside(runs, runs[i]);
        return found ? found - runs.data() : -1;
    };
    run_log one_worker = made_up("alone", 40, 1.0, 0.9), other = made_up("other", 40, 1.0, 0.9),
            part = made_up("part", 40, 1.0, 0.9);
    one_worker.about.world_size = 1;
    other.about.tensors[0].shape = {10, 100};
    part.steps_missing = 3;
    const run_log dense = made_up("dense", 40, 1.0, 0.9), sparse = made_up("dgc", 40, 0.05, 0.9);
    CHECK(dense_of({one_worker, other, part, dense, sparse}, 4) == 3);
    CHECK(dense_of({one_worker, other, part, dense, sparse}, 3) == 3);
    CHECK(dense_of({one_worker, other, part, dense, sparse}, 2) == -1);
    CHECK(dense_of({one_worker, other, part, dense, sparse}, 0) == -1);
    CHECK(dense_of({one_worker, other, part, sparse}, 3) == -1);
    const std::string text = page({one_worker, sparse, dense});
    CHECK(has(text, "<b>alone</b>: one worker, which had nothing to send"));
    CHECK(has(text, "fewer bytes</b> than <b>dense</b>"));
    CHECK_FALSE(has(text, "than <b>alone</b>"));
    CHECK_FALSE(has(text, "<b>dense</b>: each of 4"));  // told beside the other
    CHECK(has(page({dense, other}), "<b>dense</b>: each of 4"));
    // Advice is for the workers of whom whole gradients were measured.
    run_log eight = sparse;
    eight.about.world_size = 8;
    const std::vector<run_log> runs{one_worker, eight, sparse, dense};
    const auto found = sotto::detail::reporting::advice_from(runs, {});
    REQUIRE(found);
    CHECK(found->world_size == 4);
    REQUIRE(found->steps.size() == 2);
    CHECK(found->steps[found->dense].way.name == "dense");
}

TEST_CASE("a run of changing numbers of workers is told with what there were at each step") {
    run_log run = made_up("run", 40, 0.05, 0.9);
    const double dense = run.total.dense_bytes, ring = run.total.ring_bytes,
                 examples = run.total.examples_of_all;
    CHECK(ring == 1.5 * dense);
    run.ended = false;
    run_log::start fewer = run.about;
    fewer.world_size = 2;
    fewer.steps_before = 32;
    run.begin(std::move(fewer));
    run.add(run_log::step{.number = 33,
                          .seconds = 0.1,
                          .loss = 1.0,
                          .costs = {.examples = 32, .dense_bytes = 4040, .bytes_sent = 240}});
    run.end(0.5, false);
    CHECK(run.total.ring_bytes == ring + 4040.0);  // 2 (N - 1) / N is 1
    CHECK(run.total.examples_of_all == examples + 64.0);
    const std::string text = page({run, made_up("dense", 40, 1.0, 0.9)});
    CHECK(has(text, "<b>run</b>: each of 2 workers (in the end) sent"));
    CHECK_FALSE(has(text, "<b>run</b> sent"));
    CHECK(has(text,
              "was interrupted, and went on after step 32, 8 steps done twice, with 2 "
              "workers instead of 4"));
    CHECK_FALSE(has(text, "calls of fit"));
    CHECK(fault_of(text) == "");
}

TEST_CASE("a curve goes on where its run went on, and breaks where steps were done again") {
    const auto pieces_of = [](std::int64_t steps_before, std::int64_t next_epoch_ends) {
        run_log run = made_up("run", 40, 1.0, 0.9);
        const std::size_t known = run.epochs.size();
        run.ended = false;
        run_log::start again = run.about;
        again.steps_before = steps_before;
        run.begin(std::move(again));
        run_log::finished_epoch next = run.epochs[known - 1];
        next.step = next_epoch_ends;
        run.add(next);
        const sotto::detail::reporting::measure accuracy{
            "Accuracy",
            [](const run_log::finished_epoch& e) { return std::optional(e.evaluated->accuracy); },
            false, true};
        const std::string drawn = sotto::detail::reporting::drawn(
            std::span(&run, 1), accuracy, sotto::detail::reporting::against::steps);
        std::size_t pieces = 0;
        for (std::size_t at = 0; (at = drawn.find("class=\"l", at)) != drawn.npos; ++at) ++pieces;
        return pieces;
    };
    CHECK(pieces_of(40, 44) == 1);
    CHECK(pieces_of(38, 44) == 1);  // no epoch's end was done again
    CHECK(pieces_of(30, 36) == 2);
}

TEST_CASE("a run of which a part is not known is not set beside others") {
    run_log part = made_up("part", 40, 0.05, 0.9);
    part.steps_missing = 100;
    part.diagnostics.push_back({0, "the first 100 steps are not in this log"});
    const run_log dense = made_up("dense", 40, 1.0, 0.9), dgc = made_up("dgc", 40, 0.01, 0.9);
    const std::string two = page({dense, part}), three = page({dense, dgc, part});
    CHECK(has(two, "part</span>: the first 100 steps are not in this log"));
    CHECK_FALSE(has(two, "fewer bytes</b> than"));
    CHECK_FALSE(has(two, "accuracy on unseen data, which all runs did"));
    CHECK(has(three, "which all runs did that are known from their first step on"));
    CHECK(has(three, "<b>dgc</b> sent <b>"));
    CHECK_FALSE(has(three, "<b>part</b> sent <b>"));
    CHECK(fault_of(three) == "");
}

TEST_CASE("a model without labels is told by its loss, not as right in 0 % of all cases") {
    std::vector<run_log> runs{made_up("dense", 40, 1.0, 0.9), made_up("dgc", 40, 0.05, 0.9)};
    for (run_log& run : runs)
        for (run_log::finished_epoch& e : run.epochs)
            e.evaluated->accuracy = std::numeric_limits<double>::quiet_NaN();
    const std::string text = page(runs), alone = page({runs[0]});
    CHECK(has(text, "loss on unseen data"));
    CHECK(has(text, ", ended at a loss of <b>1.50</b> on unseen data instead of 1.50"));
    CHECK(has(alone, ". Loss on unseen data: <b>1.50</b>"));
    CHECK_FALSE(has(text, "0.00\u202f%"));
    CHECK_FALSE(has(text, "ccuracy on unseen data"));
    CHECK(fault_of(text) == "");
}

TEST_CASE("a run that diverges is seen to: its curve breaks off, and a remark says where") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    run_log log;
    log.name = "away";
    log.begin({.world_size = 2});
    for (std::int64_t s = 1; s <= 6; ++s) {
        log.add(run_log::step{.number = s, .seconds = double(s), .loss = s <= 4 ? double(s) : nan});
        if (s % 2 == 0)
            log.add(run_log::finished_epoch{.epoch = s / 2,
                                            .step = s,
                                            .seconds = double(s),
                                            .loss = s <= 4 ? double(s) : nan,
                                            .evaluated = evaluation{s <= 4 ? 1.0 : nan, 0.5, 1}});
    }
    const std::string text = page({log});
    CHECK(has(text,
              "<span class=\"bad\">away</span>: the loss was not a finite number from step 5 on"));
    CHECK(has(text, "away was last a finite number, 4.00, after 4 steps."));
    CHECK(fault_of(text) == "");

    // What cannot be drawn interrupts the line, also where it is thinned.
    std::vector<sotto::detail::reporting::dot> points;
    for (int i = 0; i < 10'000; ++i)
        points.push_back({double(i), i / 100 % 10 == 5 ? nan : double(i % 7)});
    sotto::detail::reporting::chart c("", sotto::detail::reporting::axis_from_zero(10'000), "",
                                      sotto::detail::reporting::linear_axis(0, 7));
    c.line(sotto::detail::reporting::thinned(points, 1000), 0,
           sotto::detail::reporting::chart::weight::normal);
    const std::string svg = c.svg("");
    const std::string path = svg.substr(svg.find("class=\"l c0\""));
    const std::string drawn = path.substr(0, path.find("/>"));
    CHECK(std::count(drawn.begin(), drawn.end(), 'M') == 11);  // pieces between ten gaps
    CHECK(sotto::detail::reporting::thinned(points, 1000).size() <= 1500);
}

TEST_CASE("a log that was ended by force, beside a run that has ended, reloads nothing") {
    run_log crashed = made_up("crashed", 20, 1.0, 0.9), run = made_up("run", 20, 0.05, 0.9);
    crashed.ended = false;
    const report_options options{.reload_seconds = 30};
    CHECK_FALSE(has(page({crashed, run}, options), "http-equiv"));
    CHECK(has(page({run, crashed}, options), "http-equiv"));
}

TEST_CASE("options that find no room are counted") {
    run_log log = made_up("run", 20, 1.0, 0.9);  // workers, seed, share
    for (int i = 0; i < 405; ++i)
        log.about.options.push_back({"option" + std::to_string(i), std::to_string(i)});
    CHECK(has(page({log}), "<tr><th>and 8 more</th></tr>"));
    CHECK_FALSE(has(page({made_up("run", 20, 1.0, 0.9)}), " more</th>"));
}

TEST_CASE("a chart of losses says which steps its axis leaves out") {
    // Of 1000 steps five begin far above, and two lie far below: all but the wildest 2 % are shown.
    const auto drawn = [](double above, double below) {
        run_log log = made_up("run", 1000, 1.0, 0.9);
        log.epochs.back().loss = 0.02;  // the axis is logarithmic
        for (std::size_t p = 0; p < log.points.size(); ++p) {
            const double loss = p < 5 ? above : p > 900 && p < 903 ? below : 1.0;
            log.points[p].loss_sum = loss * static_cast<double>(log.points[p].losses);
        }
        return page({log});
    };
    CHECK(has(drawn(9.5, 1.0), ">steps beyond the edge, up to 9.50, lie on it</text>"));
    CHECK(has(drawn(1.0, 0.001), ">steps beyond the edge, down to 0.00100, lie on it</text>"));
    CHECK(has(drawn(9.5, 0.001), ">steps beyond the edges, 0.00100 to 9.50, lie on them</text>"));
    CHECK_FALSE(has(drawn(1.0, 1.0), "steps beyond"));
    CHECK(fault_of(drawn(9.5, 0.001)) == "");
}
