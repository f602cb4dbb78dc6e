#include "sotto/logging/chrome_trace.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/full_at.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

json events_in(std::string text) {
    REQUIRE(text.ends_with(",\n"));
    text.replace(text.size() - 2, 2, "]");
    return json::parse(text);
}

json events_of(const std::filesystem::path& path) {
    return events_in(text_of(path));
}

/// Names of rows, by number.
std::map<int, std::string> rows_of(const json& events) {
    std::map<int, std::string> rows;
    for (const json& e : events)
        if (e.at("name") == "thread_name")
            CHECK(rows.emplace(e.at("tid"), e.at("args").at("name")).second);
    return rows;
}

json spans_of(const json& events) {
    json spans = json::array();
    for (const json& e : events)
        if (e.at("ph") == "X") spans.push_back(e);
    return spans;
}

/// How many spans there are of this kind.
std::ptrdiff_t count(const json& events, const char* what) {
    return std::count_if(events.begin(), events.end(),
                         [&](const json& e) { return e.contains("cat") && e["cat"] == what; });
}

layout two_tensors() {
    layout tensors;
    tensors.add("w", {3, 4});
    tensors.add("b\xff", {4}, tensor_kind::bias);  // no UTF-8
    return tensors;
}

/// A trace of steps that were made up: each begins 1 s after the one before.
class made_up_steps {
public:
    explicit made_up_steps(int rank = 0, std::int64_t before = 0)
        : step_(before),
          info_{.rank = rank, .world_size = 3, .steps_before = before, .parameters = &tensors_} {}

    run_info& info() { return info_; }
    void give(chrome_trace& trace, int steps) {
        for (int i = 0; i < steps; ++i) {
            const std::array times{detail::tensor_times{4ms, 5ms, 9ms, 11ms},
                                   detail::tensor_times{1ms, 2ms, 4ms, 12ms}};
            step_report report{.step = ++step_};
            report.round.began = time_point(step_ * 1s);
            report.round.tensor_times = times;
            report.round.agreed = 13ms;
            report.round.ended = 14ms;
            report.round.apply = 1ms;
            trace.on_step(report);
        }
    }

private:
    layout tensors_ = two_tensors();
    std::int64_t step_;
    run_info info_;
};

std::vector<detail::write_failure> complaints;
void collect(const detail::write_failure& failure) {
    complaints.push_back(failure);
}

}  // namespace

TEST_CASE("a trace is what a step was, microsecond by microsecond") {
    const testing::scratch_folder folder("chrome_trace_step");
    const auto path = folder.path() / "made" / "trace.json";
    chrome_trace trace(path, {.first_step = 3, .steps = 1});
    made_up_steps steps;
    trace.on_begin(steps.info());
    steps.give(trace, 5);
    const json events = events_of(path);
    CHECK(rows_of(events) == std::map<int, std::string>{
                                 {0, "worker"}, {1, "network: w"}, {2, "network: b\xef\xbf\xbd"}});
    CHECK(events[0].at("args").at("name") == "rank 0");
    using span = std::tuple<int, std::string, double, double>;
    std::vector<span> found;
    for (const json& s : spans_of(events)) {
        CHECK(s.at("pid") == 0);
        CHECK(s.at("name").get<std::string>().starts_with(s.at("cat").get<std::string>() + " "));
        found.emplace_back(s.at("tid"), s.at("name"), s.at("ts").get<double>() - 3e6,
                           s.at("dur").get<double>());
    }
    const std::vector<span> expected{{0, "compute b\xef\xbf\xbd", 0, 1000},
                                     {0, "compress b\xef\xbf\xbd", 1000, 1000},
                                     {0, "compute w", 2000, 2000},
                                     {0, "compress w", 4000, 1000},
                                     {0, "decode w", 9000, 2000},
                                     {0, "decode b\xef\xbf\xbd", 11000, 1000},
                                     {0, "apply step 3", 13000, 1000},
                                     {1, "exchange w", 5000, 4000},
                                     {2, "exchange b\xef\xbf\xbd", 2000, 2000}};
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(std::get<0>(found[i]) == std::get<0>(expected[i]));
        CHECK(std::get<1>(found[i]) == std::get<1>(expected[i]));
        CHECK(std::get<2>(found[i]) == doctest::Approx(std::get<2>(expected[i])));
        CHECK(std::get<3>(found[i]) == doctest::Approx(std::get<3>(expected[i])));
    }
}

TEST_CASE("every rank of a training run traces every tensor, and no row does two things at once") {
    const testing::scratch_folder folder("chrome_trace_run");
    const auto path = folder.path() / "trace.json";
    run_in_process(3, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{96}, epochs{1}, chrome_trace{path, {.steps = 4}});
    });
    for (int rank = 0; rank < 3; ++rank) {
        const json events =
            events_of(path.string() + (rank == 0 ? "" : ".rank" + std::to_string(rank)));
        CHECK(rows_of(events).size() == 1 + 4);
        std::map<int, double> ends;
        std::set<std::string> exchanged;
        json spans = spans_of(events);
        std::sort(spans.begin(), spans.end(),
                  [](const json& a, const json& b) { return a["ts"] < b["ts"]; });
        for (const json& s : spans) {
            CHECK(s.at("pid") == rank);
            CHECK(s.at("dur") > 0.0);
            double& end = ends[s.at("tid")];
            CHECK(s.at("ts").get<double>() >= end - 0.01);  // a hundredth of a microsecond
            end = s.at("ts").get<double>() + s.at("dur").get<double>();
            if (s.at("cat") == "exchange") exchanged.insert(s.at("name"));
        }
        CHECK(exchanged == std::set<std::string>{"exchange first.weight", "exchange first.bias",
                                                 "exchange second.weight"});
        CHECK(count(events, "exchange") == 3 * 4);
        CHECK(count(events, "apply") >= 4);
        CHECK(count(events, "compute") >= 4);
    }
}

TEST_CASE("files of ranks are one trace where all but the first lose their first line") {
    const testing::scratch_folder folder("chrome_trace_joined");
    const auto path = folder.path() / "trace.json";
    std::string all;
    json apart = json::array();
    for (const int rank : {0, 1, 2}) {
        chrome_trace trace(path, {.first_step = 1, .steps = 1});
        made_up_steps steps(rank);
        trace.on_begin(steps.info());
        steps.give(trace, 1);
        const std::string file = path.string() + (rank == 0 ? "" : ".rank" + std::to_string(rank));
        const std::string text = text_of(file);
        REQUIRE(text.starts_with("[\n"));
        all += rank == 0 ? text : text.substr(2);
        for (const json& e : events_of(file)) apart.push_back(e);
    }
    CHECK(events_in(all) == apart);
    std::set<int> processes;
    for (const json& e : apart) processes.insert(e.at("pid").get<int>());
    CHECK(processes == std::set<int>{0, 1, 2});
}

TEST_CASE("a single worker has no network to draw") {
    const testing::scratch_folder folder("chrome_trace_alone");
    const auto path = folder.path() / "trace.json";
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{96}, epochs{1}, chrome_trace{path, {.steps = 4}});
    });
    const json events = events_of(path);
    CHECK(rows_of(events) == std::map<int, std::string>{{0, "worker"}});
    CHECK(count(events, "exchange") == 0);
    CHECK(count(events, "compute") >= 4);
}

TEST_CASE("a trace that is given to fit again goes on; that of a resumed run begins with it") {
    const testing::scratch_folder folder("chrome_trace_again");
    const auto path = folder.path() / "trace.json";
    const chrome_trace::options three{.first_step = 2, .steps = 3};
    chrome_trace trace(path, three);
    made_up_steps steps;
    trace.on_begin(steps.info());
    steps.give(trace, 2);
    trace.on_begin(steps.info());
    steps.give(trace, 10);
    CHECK(count(events_of(path), "exchange") == 2 * 3);
    CHECK(rows_of(events_of(path)).size() == 3);

    chrome_trace after_crash(path, three);
    made_up_steps later(0, 500);
    after_crash.on_begin(later.info());
    later.give(after_crash, 10);
    const json resumed = spans_of(events_of(path));
    CHECK(count(resumed, "exchange") == 2 * 3);
    CHECK(resumed[0].at("ts").get<double>() == doctest::Approx(502e6));

    chrome_trace of_nothing(path, three);
    made_up_steps over;
    over.info().over = true;
    of_nothing.on_begin(over.info());
    CHECK(spans_of(events_of(path)) == resumed);
}

TEST_CASE("steps whose strategy tells no times leave no trace") {
    const testing::scratch_folder folder("chrome_trace_times");
    const auto path = folder.path() / "trace.json";
    chrome_trace trace(path, {.first_step = 1});
    made_up_steps steps;
    trace.on_begin(steps.info());
    trace.on_step({.step = 1});
    CHECK(spans_of(events_of(path)).empty());
}

TEST_CASE("options that cannot work are refused with their values") {
    CHECK_THROWS_WITH_AS((chrome_trace{"trace.json", {.first_step = 0}}),
                         "chrome_trace: first_step is 0; it must be at least 1", invalid_option);
    CHECK_THROWS_WITH_AS((chrome_trace{"trace.json", {.steps = -1}}),
                         "chrome_trace: steps is -1; it must be at least 1", invalid_option);
}

TEST_CASE("a file that cannot be opened or written is named when fit begins") {
    const testing::scratch_folder folder("chrome_trace_refused");
    made_up_steps steps;
    chrome_trace in_place_of_a_folder(folder.path());
    CHECK_THROWS_WITH_AS(in_place_of_a_folder.on_begin(steps.info()),
                         ("chrome_trace: '" + folder.path().string() +
                          "' cannot be opened for writing: Is a directory")
                             .c_str(),
                         io_failure);
    if (!std::filesystem::exists("/dev/full")) return;
    chrome_trace full("/dev/full");
    CHECK_THROWS_WITH_AS(full.on_begin(steps.info()),
                         "chrome_trace: '/dev/full' cannot be written: No space left on device",
                         io_failure);
}

TEST_CASE("a disk that fills up costs steps, which is told once, and no training") {
    const testing::scratch_folder folder("chrome_trace_full");
    const auto path = folder.path() / "trace.json";
    complaints.clear();
    chrome_trace trace(path, {.first_step = 1, .on_failure = collect});
    made_up_steps steps;
    trace.on_begin(steps.info());
    steps.give(trace, 1);
    {
        const testing::full_at limit(std::filesystem::file_size(path) + 150);
        steps.give(trace, 3);
    }
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].step == 2);
    CHECK(complaints[0].reason ==
          "chrome_trace: '" + path.string() + "' cannot be written: File too large");
    steps.give(trace, 1);
    const json events = events_of(path);  // of whole lines
    CHECK(count(events, "exchange") == 2 * 2);
    CHECK(count(events, "compute") >= 2 * 2);
}

TEST_CASE("chrome_trace: the trace is taken away -> said once, later steps are there") {
    const testing::scratch_folder folder("chrome_trace_removed");
    const auto path = folder.path() / "trace.json";
    complaints.clear();
    chrome_trace trace(path, {.first_step = 1, .on_failure = collect});
    made_up_steps steps;
    trace.on_begin(steps.info());
    steps.give(trace, 2);
    std::filesystem::remove(path);
    steps.give(trace, 2);
    REQUIRE(complaints.size() == 1);
    CHECK(complaints[0].step == 3);
    CHECK(complaints[0].reason == "chrome_trace: '" + path.string() +
                                      "' cannot be completed: it was removed while it was being "
                                      "written");
    CHECK(trace.incomplete() == complaints[0].reason);
    const json events = events_of(path);
    CHECK(count(events, "exchange") == 2 * 2);
    CHECK(rows_of(events).size() == 3);
}

TEST_CASE("chrome_trace: removed after its last step -> noticed when fit ends") {
    const testing::scratch_folder folder("chrome_trace_removed");
    const auto path = folder.path() / "trace.json";
    complaints.clear();
    chrome_trace trace(path, {.first_step = 1, .steps = 1, .on_failure = collect});
    made_up_steps steps;
    trace.on_begin(steps.info());
    steps.give(trace, 3);
    trace.on_end({.step = 3});
    CHECK(trace.incomplete().empty());
    std::filesystem::remove(path);
    trace.on_end({.step = 3});
    CHECK(complaints.size() == 1);
    CHECK_FALSE(trace.incomplete().empty());
}

TEST_CASE("chrome_trace: a device -> all ranks write into it") {
    chrome_trace trace("/dev/null", {.first_step = 1});
    made_up_steps steps(1);
    trace.on_begin(steps.info());
    steps.give(trace, 1);
    trace.on_end({.step = 1});
    CHECK(trace.incomplete().empty());
    CHECK(std::filesystem::is_character_file("/dev/null"));
    CHECK_FALSE(std::filesystem::exists("/dev/null.rank1"));
}
