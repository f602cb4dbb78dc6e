#include "sotto/logging/json_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "sotto/compressors/dgc.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/full_at.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using testing::full_at;

namespace {

std::vector<detail::write_failure> complaints;
void collect(const detail::write_failure& failure) {
    complaints.push_back(failure);
}

/// A file of this name that is gone with the object.
struct scratch_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("sotto_json_lines_" + std::to_string(::getpid()) + ".jsonl");
    ~scratch_file() { std::filesystem::remove(path); }

    std::string text() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    std::vector<nlohmann::json> lines() const {
        std::vector<nlohmann::json> parsed;
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);)
            parsed.push_back(nlohmann::json::parse(line));
        return parsed;
    }
};

std::set<std::string> members(const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items()) names.insert(name);
    return names;
}

std::set<std::string> with_costs(std::set<std::string> names) {
    names.insert({"examples", "load_seconds", "compute_seconds", "compress_seconds", "wait_seconds",
                  "apply_seconds", "exchange_seconds", "hidden_seconds", "dense_bytes",
                  "message_bytes", "bytes_sent", "bytes_received"});
    return names;
}

}  // namespace

TEST_CASE("every line is a JSON object with the members of its event") {
    const scratch_file file;
    std::string description;
    std::vector<std::string> tensors;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        const testing::numbered data{24}, unseen{5};
        if (transport.rank() == 0) description = trainer.description();
        if (transport.rank() == 0)
            for (const tensor& t : model.layout()) tensors.push_back(t.name);
        trainer.fit(data, epochs{2}, evaluate_on{unseen, 2}, json_lines{file.path});
    });
    const auto lines = file.lines();
    REQUIRE(lines.size() == 1 + 2 * 3 + 2 * 2 + 1);
    std::vector<std::string> events;
    for (const auto& line : lines) events.push_back(line.at("event"));
    CHECK(events == std::vector<std::string>{"run", "step", "step", "step", "epoch", "round",
                                             "step", "step", "step", "epoch", "round", "end"});
    const auto& run = lines.front();
    CHECK(members(run) == std::set<std::string>{"event", "rank", "world_size", "epochs", "examples",
                                                "steps_an_epoch", "step", "options", "tensors",
                                                "in_step"});
    CHECK(run["in_step"] == true);
    std::string options;
    for (const auto& [name, value] : run["options"].items())
        options += name + " = " + value.get<std::string>() + "\n";
    // Tensors are in a list of their own.
    std::string expected;
    for (std::istringstream all(description); std::getline(all, description);)
        if (!description.starts_with("tensor ")) expected += description + "\n";
    CHECK(options.size() == expected.size());  // items() are in the order of their names
    CHECK(run["options"]["trainer.batch_size"] == "4");
    CHECK(run["world_size"] == 2);
    REQUIRE(run["tensors"].size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(run["tensors"][i]["name"] == tensors.at(i));
    CHECK(run["tensors"][3]["name"] == "second.weight");
    CHECK(run["tensors"][3]["shape"] == std::vector<std::int64_t>{70, 10});
    CHECK(run["tensors"][3]["size"] == 700);

    const std::set<std::string> test{"test_loss", "test_accuracy", "test_examples"};
    CHECK(members(lines[1]) == with_costs({"event", "step", "epoch", "seconds_since_start",
                                           "rank_loss", "began_seconds", "tensor_message_bytes"}));
    CHECK(lines[1]["tensor_message_bytes"].size() == 4);
    CHECK(members(lines[4]) == with_costs({"event", "epoch", "complete", "step",
                                           "seconds_since_start", "loss", "peak_memory_bytes"}));
    auto with_test = members(lines[4]);
    with_test.insert(test.begin(), test.end());
    CHECK(members(lines[9]) == with_test);
    CHECK(lines[9]["test_examples"] == 5);
    CHECK(lines[9]["test_loss"] == 2.0);  // the mean of 0..4
    for (const std::size_t i : {std::size_t{5}, std::size_t{10}}) {
        CHECK(members(lines[i]) == std::set<std::string>{"event", "step", "ready_seconds",
                                                         "left_seconds", "arrived_seconds",
                                                         "decoded_seconds", "agreed_seconds",
                                                         "ended_seconds", "apply_seconds"});
        CHECK(lines[i]["step"] >= 1);
        CHECK(lines[i]["step"] <= lines[i - 1]["step"]);
        CHECK(lines[i]["arrived_seconds"].size() == 4);
    }
    auto of_end = with_costs({"event", "epochs", "steps", "step", "seconds_since_start", "loss",
                              "stopped_early", "peak_memory_bytes"});
    of_end.insert(test.begin(), test.end());
    CHECK(members(lines[11]) == of_end);

    std::int64_t bytes = 0;
    for (const auto& line : lines)
        if (line["event"] == "step") bytes += line["message_bytes"].get<std::int64_t>();
    CHECK(lines.back()["message_bytes"] == bytes);
}

TEST_CASE("a log given to fit twice goes on, and steps are counted over both calls") {
    const scratch_file file;
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        json_lines log(file.path, {.every_steps = 100});
        trainer.fit(testing::numbered{12}, steps{4}, log);  // 3 steps an epoch
        trainer.fit(testing::numbered{12}, steps{2}, log);
    });
    const auto lines = file.lines();
    REQUIRE(lines.size() == 7);  // run, 2 epochs, end; run, the rest of the second epoch, end
    CHECK(lines[1]["complete"] == true);
    CHECK(lines[2]["complete"] == false);
    CHECK(lines[2]["epoch"] == 2);
    CHECK(lines[3]["step"] == 4);
    CHECK(lines[3]["steps"] == 4);
    CHECK(lines[3]["epochs"] == 1);
    CHECK(lines[4]["event"] == "run");
    CHECK(lines[4]["step"] == 4);
    CHECK(lines[5]["epoch"] == 2);
    CHECK(lines[5]["complete"] == true);
    CHECK(lines[6]["step"] == 6);
    CHECK(lines[6]["steps"] == 2);
    CHECK(lines[6]["epochs"] == 1);
}

TEST_CASE("every rank's log has its own name, also in the second call of fit") {
    const scratch_file file;
    const std::filesystem::path other = file.path.string() + ".rank1";
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport};
        json_lines log(file.path, {.every_rank = true});
        for (int call = 0; call < 2; ++call) trainer.fit(testing::numbered{12}, epochs{1}, log);
    });
    CHECK(file.lines().size() == 10);
    std::ifstream in(other);
    std::int64_t lines = 0;
    for (std::string line; std::getline(in, line);)
        lines += nlohmann::json::parse(line).value("rank", 1) == 1;
    CHECK(lines == 10);
    CHECK(std::filesystem::remove(other));
    CHECK_FALSE(std::filesystem::exists(other.string() + ".rank1"));
}

TEST_CASE("steps can be left out, and what is no number is null") {
    const scratch_file file;
    {
        json_lines log(file.path, {.every_steps = 3});
        const layout nothing;
        log.on_begin({.parameters = &nothing});
        for (std::int64_t step = 1; step <= 7; ++step)
            log.on_step(
                {.step = step, .round = {.loss = std::numeric_limits<double>::quiet_NaN()}});
    }
    const auto lines = file.lines();
    REQUIRE(lines.size() == 3);
    CHECK(lines[1]["step"] == 3);
    CHECK(lines[2]["step"] == 6);
    CHECK(lines[1]["rank_loss"].is_null());
}

TEST_CASE("a file that cannot be opened is named with the system's reason") {
    CHECK_THROWS_WITH_AS(json_lines("/dev/null/at/all.jsonl"),
                         "json_lines: '/dev/null/at/all.jsonl' cannot be opened for writing: Not "
                         "a directory",
                         io_failure);
    CHECK_THROWS_WITH_AS(json_lines("run.jsonl", {.every_steps = 0}),
                         "json_lines: every_steps is 0; it must be at least 1", invalid_option);
    CHECK_FALSE(std::filesystem::exists("run.jsonl"));
}

TEST_CASE("a device that is full when fit begins is a failure, not a shorter log") {
    if (!std::filesystem::exists("/dev/full")) {
        MESSAGE("skipped: there is no /dev/full");
        return;
    }
    json_lines log("/dev/full");
    const layout nothing;
    CHECK_THROWS_WITH_AS(log.on_begin({.parameters = &nothing}),
                         "json_lines: '/dev/full' cannot be written: No space left on device",
                         io_failure);
}

TEST_CASE("a disk that fills up in the middle costs lines, which are counted, and no training") {
    const layout nothing;
    const auto step = [](std::int64_t number) { return step_report{.step = number}; };
    constexpr std::size_t enough = 1000;  // stands for one line and a part of the next
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{50}, enough}) {
        const scratch_file file;
        complaints.clear();
        json_lines log(file.path, {.on_failure = collect});
        log.on_begin({.parameters = &nothing});
        const std::uintmax_t begun = std::filesystem::file_size(file.path);
        log.on_step(step(1));
        const std::uintmax_t before = std::filesystem::file_size(file.path);
        const std::uintmax_t most = before + (room < enough ? room : before - begun + 5);
        {
            const full_at limit(most);
            for (std::int64_t s = 2; s <= 5; ++s) log.on_step(step(s));
            log.on_epoch({.epoch = 1, .step = 5});
        }
        CHECK(std::filesystem::file_size(file.path) <= most);
        REQUIRE(complaints.size() == 1);  // not one for every line
        CHECK(complaints[0].step == (room < enough ? 2 : 3));
        CHECK(complaints[0].reason ==
              "json_lines: '" + file.path.string() + "' cannot be written: File too large");
        log.on_step(step(6));
        {
            const full_at limit(std::filesystem::file_size(file.path));
            log.on_end({.step = 6});
        }
        CHECK(complaints.size() == 2);  // it had worked again
        log.on_begin({.steps_before = 6, .parameters = &nothing});
        const auto lines = file.lines();  // each is whole
        std::vector<std::string> events;
        for (const auto& line : lines) events.push_back(line.at("event"));
        std::vector<std::string> expected{"run", "step"};
        if (room == enough) expected.push_back("step");
        expected.insert(expected.end(), {"skipped", "step", "skipped", "run"});
        CHECK(events == expected);
        const auto& skipped = lines[expected.size() - 4];
        CHECK(skipped["lines"] == (room < enough ? 5 : 4));
        CHECK(skipped["reason"] == "File too large");
        CHECK(lines[expected.size() - 3]["step"] == 6);
        CHECK(lines[expected.size() - 2]["lines"] == 1);
    }
}

TEST_CASE("training goes on while its log cannot be written") {
    const scratch_file file;
    complaints.clear();
    std::int64_t steps_done = 0;
    std::vector<std::string> incomplete;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        json_lines log(file.path, {.on_failure = collect});
        std::optional<full_at> limit;
        const auto fill_up = [&](const step_report& report) {
            if (transport.rank() == 0 && report.step == 2)
                limit.emplace(std::filesystem::file_size(file.path));
        };
        const fit_report report = trainer.fit(testing::numbered{48}, epochs{1}, log, fill_up);
        if (transport.rank() == 0) {
            steps_done = report.steps;
            incomplete = report.incomplete;
            CHECK_THROWS_AS(require_complete_output(report), output_incomplete);
        } else {
            CHECK(report.incomplete.empty());
            require_complete_output(report);
        }
    });
    CHECK(steps_done == 6);
    CHECK(complaints.size() == 1);
    CHECK(incomplete == std::vector<std::string>{"json_lines: '" + file.path.string() +
                                                 "' cannot be written: File too large: it lacks 7 "
                                                 "lines"});
    CHECK(file.lines().size() == 3);
}

TEST_CASE("json_lines: the log is taken away -> said once, goes on in a new file") {
    const layout nothing;
    const scratch_file file;
    const std::string moved = file.path.string() + ".1";
    const auto lose = [&](auto&& change) {
        complaints.clear();
        json_lines log(file.path, {.on_failure = collect});
        log.on_begin({.steps_an_epoch = 9, .parameters = &nothing});
        for (std::int64_t step = 1; step <= 9; ++step) {
            if (step == 4 || step == 7) change();
            log.on_step({.step = step});
        }
        log.on_epoch({.epoch = 1, .step = 9});
        log.on_end({.steps = 9, .step = 9});
        const run_log found = read_json_lines(file.path);
        CHECK(found.steps == 3);
        CHECK(found.last_step == 9);
        CHECK(found.steps_missing == 6);
        CHECK(found.ended);
        CHECK(complaints.size() == 1);
        return log.incomplete();
    };
    const std::string text =
        "json_lines: '" + file.path.string() + "' cannot be completed: it was ";
    constexpr const char* on = " while it was being written; the run goes on in a new one";
    constexpr const char* on_it =
        " while it was being written; the run goes on in what is left of it";
    CHECK(lose([&] { std::filesystem::remove(file.path); }) == text + "removed" + on);
    CHECK(complaints.at(0).reason == text + "removed" + on);
    CHECK(complaints.at(0).step == 3);
    CHECK(lose([&] { std::filesystem::resize_file(file.path, 0); }) == text + "shortened" + on_it);
    // What is renamed, as by a rotation of logs, is still there.
    CHECK(lose([&] { std::filesystem::rename(file.path, moved); }).empty());
    CHECK(complaints.at(0).reason ==
          "json_lines: '" + file.path.string() + "': it was renamed or replaced" + on);
    CHECK(read_json_lines(moved).steps == 3);
    std::filesystem::remove(moved);
}

TEST_CASE("json_lines: the log is taken away while its disk is full -> a new run line") {
    const layout nothing;
    const scratch_file file;
    complaints.clear();
    json_lines log(file.path, {.on_failure = collect});
    log.on_begin({.steps_an_epoch = 9, .parameters = &nothing});
    for (std::int64_t step = 1; step <= 9; ++step) {
        if (step == 4) {
            const testing::full_at full(0);
            log.on_step({.step = step});
            std::filesystem::remove(file.path);
            log.on_step({.step = step + 1});  // nor is there room for the new run line
        }
        if (step > 5 || step < 4) log.on_step({.step = step});
    }
    log.on_end({.steps = 9, .step = 9});
    const run_log found = read_json_lines(file.path);
    CHECK(found.last_step == 9);
    CHECK(found.ended);
    CHECK_FALSE(log.incomplete().empty());
}

TEST_CASE("json_lines: a device -> every rank and model writes into it") {
    const layout nothing;
    for (const auto& [rank, model] : {std::pair{0, ""}, {1, ""}, {0, "group-0"}, {1, "group-1"}}) {
        json_lines log("/dev/null", {.every_rank = true});
        log.on_begin({.rank = rank,
                      .world_size = 2,
                      .parameters = &nothing,
                      .model = model,
                      .model_rank = rank});
        log.on_step({.step = 1});
        CHECK(log.incomplete().empty());
    }
    CHECK(std::filesystem::is_character_file("/dev/null"));
    CHECK_FALSE(std::filesystem::exists("/dev/null.rank1"));
    CHECK_FALSE(std::filesystem::exists("/dev/null.group-0"));
}

TEST_CASE("json_lines: a FIFO -> opened without blocking, and never closed between") {
    const layout nothing;
    const scratch_file file;
    REQUIRE(::mkfifo(file.path.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(json_lines(file.path),
                         ("json_lines: '" + file.path.string() +
                          "' cannot be opened for writing: it is a FIFO that no process reads")
                             .c_str(),
                         io_failure);
    const auto reads = detail::open_file(file.path.c_str(), O_RDONLY | O_NONBLOCK);
    json_lines log(file.path);
    std::array<char, 4096> text{};
    CHECK(::read(reads.handle(), text.data(), text.size()) < 0);  // not 0, which is the end
    log.on_begin({.parameters = &nothing});
    log.on_step({.step = 1});
    const ::ssize_t got = ::read(reads.handle(), text.data(), text.size());
    REQUIRE(got > 0);
    const std::string_view lines(text.data(), static_cast<std::size_t>(got));
    CHECK(lines.starts_with("{\"event\":\"run\""));
    CHECK(lines.find("\n{\"event\":\"step\",\"step\":1") != lines.npos);
    CHECK(log.incomplete().empty());
}

TEST_CASE("json_lines: controls in a text -> escaped, and read back as they were") {
    const layout nothing;
    const scratch_file file;
    json_lines log(file.path);
    log.on_begin({.parameters = &nothing});
    const std::string cause = "a\x1b[2J\x7f\xc2\x9b\u202e\nb\u00e9";
    log.on_checkpoint({.step = 1, .path = "p", .failure = cause});
    const std::string text = file.text();
    CHECK(text.find("a\\u001b[2J\\u007f\\u009b\\u202e\\nb\u00e9") != text.npos);
    CHECK(file.lines().back()["failure"] == cause);
}

TEST_CASE("the log of a run that goes on after a crash goes on too, wherever it was cut") {
    const layout nothing;
    const auto step = [](json_lines& log, std::int64_t number) {
        log.on_step({.step = number, .round = {.bytes_sent = 10}});
    };
    const scratch_file file;
    {
        json_lines log(file.path);
        log.on_begin({.parameters = &nothing});
        step(log, 1);
        step(log, 2);
    }
    const std::string whole = file.text();
    const std::vector<std::size_t> ends = [&] {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < whole.size(); ++i)
            if (whole[i] == '\n') found.push_back(i + 1);
        return found;
    }();
    REQUIRE(ends.size() == 3);
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        std::ofstream(file.path, std::ios::binary) << whole.substr(0, cut);
        {
            json_lines log(file.path);
            CHECK(file.text().size() == cut);  // a rank that writes nothing leaves it alone
            log.on_begin({.steps_before = 1, .parameters = &nothing});
            step(log, 2);
        }
        const auto kept =
            std::count_if(ends.begin(), ends.end(), [cut](std::size_t end) { return end <= cut; });
        const auto lines = file.lines();
        REQUIRE(std::ssize(lines) == kept + 2);
        CHECK(lines[static_cast<std::size_t>(kept)]["event"] == "run");
        CHECK(lines.back()["step"] == 2);
    }
    {
        json_lines log(file.path);
        log.on_begin({.parameters = &nothing});  // from the beginning: another run
    }
    CHECK(file.lines().size() == 1);
}

TEST_CASE("the log of a worker that comes again goes on where servers had its steps") {
    const layout nothing;
    const scratch_file file;
    for (const std::int64_t had : {0, 2}) {
        json_lines log(file.path);
        log.on_begin({.steps_at_servers = had, .parameters = &nothing});
        log.on_step({.step = had + 1});
        log.on_step({.step = had + 2});
    }
    const auto lines = file.lines();
    REQUIRE(lines.size() == 6);
    CHECK(lines[3]["event"] == "run");
    CHECK(lines[3]["step"] == 2);
    CHECK(lines.back()["step"] == 4);
    json_lines(file.path).on_begin({.parameters = &nothing});  // nobody had any: another run
    CHECK(file.lines().size() == 1);
}

TEST_CASE("a run that was over when its program began again adds nothing to its log") {
    const scratch_file file;
    const layout nothing;
    run_info info{.epochs = 2, .steps_max = 4, .parameters = &nothing};
    const auto lines_after = [&](const run_info& begun) {
        json_lines log(file.path);
        log.on_begin(begun);
        log.on_end({});
        return file.lines().size();
    };
    CHECK(lines_after(info) == 2);
    info.steps_before = 4, info.resumed = info.over = true;
    CHECK(lines_after(info) == 2);
    info.over = false;
    CHECK(lines_after(info) == 4);
}

TEST_CASE("a last line longer than what is read at once is cut off whole") {
    const layout nothing;
    const scratch_file file;
    for (const std::size_t length : std::array<std::size_t, 4>{65535, 65536, 65537, 200'000}) {
        std::ofstream(file.path, std::ios::binary) << "{}\n" << std::string(length, 'x');
        json_lines log(file.path);
        log.on_begin({.steps_before = 1, .parameters = &nothing});
        CHECK(file.lines().size() == 2);
    }
}
