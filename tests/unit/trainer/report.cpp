#include "sotto/trainer/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/html_report.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

struct scratch_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("sotto_report_" + std::to_string(::getpid()) + ".html");
    ~scratch_file() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool partial_is_left() const { return std::filesystem::exists(path.string() + ".partial"); }
};

/// A run of four workers; each message is the gradient's part `share`.
run_log made_up(std::string name, std::int64_t steps, double share, double accuracy) {
    run_log log;
    log.name = std::move(name);
    log.begin({.world_size = 4,
               .options = {{"trainer.seed", "7"}, {"share", std::to_string(share)}},
               .tensors = {{.name = "w", .shape = {100, 10}, .size = 1000},
                           {.name = "b", .shape = {10}, .size = 10}}});
    const std::vector<std::int64_t> tensor_bytes{static_cast<std::int64_t>(4000 * share), 40};
    const double message = static_cast<double>(tensor_bytes[0] + 40);
    const double sent = (share < 0.95 ? 3.0 : 1.5) * message;
    const std::int64_t an_epoch = std::max<std::int64_t>(steps / 10, 1);
    for (std::int64_t s = 1; s <= steps; ++s) {
        const double at = 0.01 * static_cast<double>(s);
        log.add(run_log::step{.number = s,
                              .epoch = static_cast<double>(s - 1) / static_cast<double>(an_epoch),
                              .seconds = at,
                              .loss = 2.0 / (1.0 + at) + 0.1 * static_cast<double>(s * 37 % 11),
                              .costs = {.examples = 32,
                                        .load = 0.001,
                                        .compute = 0.004,
                                        .compress = share < 0.95 ? 0.001 : 0.0,
                                        .wait = 0.003,
                                        .apply = 0.001,
                                        .dense_bytes = 4040,
                                        .message_bytes = message,
                                        .bytes_sent = sent,
                                        .bytes_received = sent},
                              .tensor_message_bytes = tensor_bytes});
        if (s % an_epoch != 0) continue;
        const auto count = static_cast<double>(an_epoch);
        const double reached = accuracy * (1.0 - 0.3 / (1.0 + at));
        log.add(run_epoch{.epoch = s / an_epoch,
                          .step = s,
                          .seconds = at,
                          .loss = 2.0 / (1.0 + at),
                          .evaluated = evaluation{2.1 / (1.0 + at), reached, 100},
                          .costs = {.examples = 32 * count,
                                    .load = 0.001 * count,
                                    .compute = 0.004 * count,
                                    .compress = (share < 0.95 ? 0.001 : 0.0) * count,
                                    .wait = 0.003 * count,
                                    .apply = 0.001 * count,
                                    .dense_bytes = 4040 * count,
                                    .message_bytes = message * count,
                                    .bytes_sent = sent * count,
                                    .bytes_received = sent * count}});
    }
    log.end(0.01 * static_cast<double>(steps), false);
    return log;
}

/// What is wrong with the markup: tags that are not closed in order, text outside of escapes.
std::string fault_of(std::string_view html) {
    std::vector<std::string> open;
    for (std::size_t i = 0; i < html.size();) {
        if (html[i] != '<') {
            ++i;
            continue;
        }
        const std::size_t end = html.find('>', i);
        if (end == html.npos) return "a tag without an end";
        const std::string_view tag = html.substr(i + 1, end - i - 1);
        i = end + 1;
        if (tag.starts_with("!doctype")) continue;
        const bool closes = tag.starts_with('/');
        const std::string name(
            tag.substr(closes ? 1 : 0, tag.find_first_of(" /", 1) - (closes ? 1 : 0)));
        if (closes) {
            const std::string closed(tag.substr(1));
            if (open.empty() || open.back() != closed) return "unexpected </" + closed + ">";
            open.pop_back();
        } else if (!tag.ends_with('/') && name != "meta" && name != "link") {
            open.push_back(name);
            if (name == "style") i = html.find("</style>", i);
        }
    }
    return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

std::string page(const std::vector<run_log>& runs, const report_options& options = {}) {
    return reporting::page(runs, options);
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

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
    log.remarks.push_back({3, evil});
    const std::string text = page({log, made_up("b", 20, 0.1, 0.9)}, {.title = evil});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "<script"));
    CHECK_FALSE(has(text, "\xff"));
    CHECK_FALSE(has(text, "\x01"));
    CHECK(reporting::escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK(reporting::escaped("é\xc3") == "é\xef\xbf\xbd");
    CHECK(reporting::escaped(std::string(5000, 'x'), 10) == "xxxxxxxxxx…");
}

TEST_CASE("runs without anything to draw are reported nonetheless") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(has(page({}), "There are no runs in this report."));
    run_log begun;
    begun.name = "begun";
    begun.begin({});
    CHECK(fault_of(page({begun})) == "");
    CHECK(has(page({begun}), "has not ended"));
    run_log diverged;
    diverged.name = "diverged";
    diverged.begin({.world_size = 2});
    for (std::int64_t s = 1; s <= 3; ++s)
        diverged.add(run_log::step{.number = s, .loss = s == 1 ? 1e308 : nan});
    diverged.add(run_epoch{.epoch = 1, .step = 3, .loss = nan, .evaluated = evaluation{nan, 0.0}});
    const std::string text = page({diverged, begun});
    CHECK(fault_of(text) == "");
    CHECK_FALSE(has(text, "nan"));
    CHECK_FALSE(has(text, "inf"));
}

TEST_CASE("remarks, early ends and a link are in the report") {
    run_log log = made_up("run", 40, 0.05, 0.9);
    log.remarks.push_back({12, "the checkpoint 'x' was not written: No space left on device"});
    log.stopped_early = true;
    const std::string text =
        page({made_up("dense", 40, 1.0, 0.9), log},
             {.link = network_link{.bytes_per_second = 1e5, .latency_seconds = 0.0}});
    CHECK(has(text, "after step 12, the checkpoint &#39;x&#39; was not written: No space"));
    CHECK(has(text, "was stopped before its time"));
    CHECK(has(text, "this link"));
    CHECK(has(text, "Use run: a step takes"));
    CHECK(fault_of(text) == "");
}

TEST_CASE("predictions come from what the runs measured") {
    const std::vector<run_log> runs{made_up("dense", 40, 1.0, 0.9), made_up("run", 40, 0.05, 0.9)};
    const network_link link{.bytes_per_second = 1e5, .latency_seconds = 0.001};
    const auto found = reporting::advice_from(runs, link);
    REQUIRE(found);
    CHECK(found->compute_seconds / 0.006 == doctest::Approx(1.0));
    CHECK(1e3 * found->steps[0].step_seconds == doctest::Approx(6 + 60.6 + 6 * 1));
    CHECK(1e3 * found->steps[1].step_seconds == doctest::Approx(7 + 7.2 + 3 * 1));
    // Alone, it is compared with what the cost model says of whole gradients.
    const auto alone = reporting::advice_from(std::span(runs).last(1), link);
    REQUIRE(alone);
    CHECK(alone->steps[0].way.name == "whole gradients");
    CHECK(alone->steps[0].way.transfer.bytes ==
          doctest::Approx(all_reduce_cost(1000, 4).bytes + all_reduce_cost(10, 4).bytes));
    CHECK_FALSE(reporting::advice_from(std::span(runs).first(1), link));
}

TEST_CASE("ticks are round, few and inside") {
    for (const auto& [low, high] :
         {std::pair(0.0, 1.0), std::pair(0.013, 0.97), std::pair(-3.0, 8.5), std::pair(5.0, 5.0),
          std::pair(0.0, 0.0), std::pair(1e-9, 1e9)}) {
        const reporting::axis a = reporting::linear_axis(low, high);
        CHECK(a.ticks.size() >= 2);
        CHECK(a.ticks.size() <= 7);
        CHECK(a.low <= low);
        CHECK(a.high >= high);
        for (std::size_t i = 1; i < a.ticks.size(); ++i) CHECK(a.ticks[i] > a.ticks[i - 1]);
    }
    const auto plain = [](double v) { return reporting::digits(v, 1); };
    for (const auto& [low, high] :
         {std::pair(1e-3, 1e3), std::pair(0.4, 3.0), std::pair(1.0, 1e12), std::pair(2.0, 2.0)}) {
        const reporting::axis a = reporting::log_axis(low, high, 10.0, plain);
        CHECK(a.ticks.size() >= 2);
        CHECK(a.ticks.size() <= 7);
        CHECK(a.place(low) == doctest::Approx(0.0));
        CHECK(a.place(a.high) == doctest::Approx(1.0));
        CHECK_FALSE(a.shows(0.0));
    }
}

TEST_CASE("thinned curves keep their extremes") {
    std::vector<reporting::dot> points;
    for (int i = 0; i < 10'000; ++i) points.push_back({double(i), double(i % 7)});
    points[4321].y = 100.0;
    points[1234].y = -100.0;
    const auto thin = reporting::thinned(points, 200);
    CHECK(thin.size() <= 200);
    double least = 0.0, most = 0.0, last = -1.0;
    for (const reporting::dot& p : thin) {
        least = std::min(least, p.y);
        most = std::max(most, p.y);
        CHECK(p.x > last);
        last = p.x;
    }
    CHECK(least == -100.0);
    CHECK(most == 100.0);
    CHECK(reporting::thinned(points, 20'000).size() == points.size());
}

TEST_CASE("numbers are written for people") {
    CHECK(reporting::bytes(0.0) == "0\u202fB");
    CHECK(reporting::bytes(1536.0) == "1.50\u202fKiB");
    CHECK(reporting::bytes(1024.0 * 1024.0) == "1\u202fMiB");
    CHECK(reporting::seconds(0.00025) == "250\u202fµs");
    CHECK(reporting::seconds(61.5) == "61.5\u202fs");
    CHECK(reporting::seconds(3725.0) == "62\u202fmin 5\u202fs");
    CHECK(reporting::seconds(86400.0) == "24\u202fh 0\u202fmin");
    CHECK(reporting::bandwidth(125e6) == "1\u202fGbit/s");
    CHECK(reporting::counted(1234567.0) == "1\u202f234\u202f567");
    CHECK(reporting::percent(0.96154) == "96.15\u202f%");
    CHECK(reporting::times(1.04) == "1.0\u202f×");
    CHECK(reporting::fixed(-0.0001, 2) == "0.00");
    CHECK(reporting::digits(0.012345) == "0.0123");
    CHECK(reporting::digits(std::numeric_limits<double>::infinity()) == "∞");
}

TEST_CASE("a report that cannot be written names file and reason and leaves the old one") {
    CHECK_THROWS_WITH_AS(write_report(made_up("a", 10, 1.0, 0.5), "/nowhere/report.html"),
                         "write_report: '/nowhere/report.html' cannot be opened for writing: No "
                         "such file or directory",
                         io_failure);
    CHECK_THROWS_AS(write_report(made_up("a", 10, 1.0, 0.5), "r.html",
                                 {.link = network_link{.bytes_per_second = -1.0}}),
                    invalid_option);
    const scratch_file file;
    write_report(made_up("a", 10, 1.0, 0.5), file.path);
    const std::string before = file.text();
    CHECK(before.ends_with("</html>\n"));
    CHECK_FALSE(file.partial_is_left());
    if (!std::filesystem::exists("/dev/full")) {
        MESSAGE("skipped: there is no /dev/full");
        return;
    }
    std::filesystem::create_symlink("/dev/full", file.path.string() + ".partial");
    CHECK_THROWS_WITH_AS(
        write_report(made_up("b", 10, 1.0, 0.5), file.path),
        ("write_report: '" + file.path.string() + "' cannot be written: No space left on device")
            .c_str(),
        io_failure);
    CHECK(file.text() == before);
    CHECK_FALSE(file.partial_is_left());
}

TEST_CASE("a report is there while training goes on, by rank 0 alone, and reloads itself") {
    const scratch_file file;
    std::vector<std::string> meanwhile;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        html_report report(file.path, {.name = "live", .every_seconds = 60.0, .every_epochs = 2});
        const auto look = [&](const epoch_report&) {
            if (transport.rank() == 0) meanwhile.push_back(file.text());
        };
        trainer.fit(testing::numbered{24}, epochs{3}, evaluate_on{testing::numbered{5}}, report,
                    look);
        CHECK(report.log().fits == (transport.rank() == 0 ? 1 : 0));
    });
    REQUIRE(meanwhile.size() == 3);
    CHECK(meanwhile[0].find("0 steps") != std::string::npos);  // written when fit began
    CHECK(meanwhile[1].find("6 steps") != std::string::npos);  // and after the second epoch
    CHECK(meanwhile[2] == meanwhile[1]);
    for (const std::string& text : meanwhile) {
        CHECK(has(text, "http-equiv=\"refresh\" content=\"60\""));
        CHECK(fault_of(text) == "");
    }
    CHECK_FALSE(has(file.text(), "refresh"));
    CHECK(has(file.text(), "9 steps"));
    CHECK_THROWS_AS(html_report("r.html", {.every_seconds = -1.0}), invalid_option);
    CHECK_THROWS_AS(html_report("r.html", {.every_epochs = -1}), invalid_option);
}
