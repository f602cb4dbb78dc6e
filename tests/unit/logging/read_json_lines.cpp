#include "sotto/logging/read_json_lines.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "sotto/compressors/dgc.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

struct scratch_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("sotto_read_json_lines_" + std::to_string(::getpid()) + ".jsonl");
    ~scratch_file() { std::filesystem::remove(path); }
    void write(std::string_view text) const { std::ofstream(path, std::ios::binary) << text; }
    std::string text() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

const std::string run_line =
    R"({"event":"run","rank":0,"world_size":2,"epochs":1,"examples":8,"steps_an_epoch":2,"step":0,)"
    R"("options":{"a":"1"},"tensors":[{"name":"w","shape":[2,3],"size":6}]})"
    "\n";

std::string costs(int bytes) {
    return R"("examples":4,"load_seconds":0,"compute_seconds":0.5,"compress_seconds":0,)"
           R"("wait_seconds":0.25,"apply_seconds":0,"dense_bytes":24,"message_bytes":)" +
           std::to_string(bytes) + R"(,"bytes_sent":10,"bytes_received":10)";
}
std::string step_line(int step, const std::string& loss = "0.5") {
    return R"({"event":"step","step":)" + std::to_string(step) +
           R"(,"epoch":0.0,"seconds_since_start":1.5,"rank_loss":)" + loss + "," + costs(12) +
           R"(,"tensor_message_bytes":[12]})"
           "\n";
}

run_log parse(const std::string& text) {
    const scratch_file file;
    file.write(text);
    return read_json_lines(file.path);
}

std::string refusal(const std::string& text) {
    const scratch_file file;
    file.write(text);
    try {
        read_json_lines(file.path);
    } catch (const detail::malformed_log& e) {
        std::string what = e.what();
        CHECK(what.starts_with("'" + file.path.string() + "', line " + std::to_string(e.line())));
        return what.substr(file.path.string().size() + 4);
    }
    return "accepted";
}

std::string with(const std::string& line, const std::string& from, const std::string& to) {
    std::string changed = line;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what is read from a log is what a recorder kept of the run") {
    const scratch_file file;
    run_log live;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        const testing::numbered data{24}, unseen{5};
        json_lines log(file.path);
        run_recorder recorder("recorded");
        trainer.fit(data, steps{5}, evaluate_on{unseen}, log, recorder);
        trainer.fit(data, epochs{2}, evaluate_on{unseen}, log, recorder);
        if (transport.rank() == 0) live = recorder.log();
    });
    const run_log read = read_json_lines(file.path);
    CHECK(read.name == file.path.stem().string());
    CHECK(read.fits == 2);
    CHECK(read.ended);
    CHECK(read.steps == live.steps);
    CHECK(read.last_step == live.last_step);
    CHECK(read.seconds == doctest::Approx(live.seconds));
    CHECK(read.about.options == live.about.options);
    CHECK(read.about.tensors == live.about.tensors);
    CHECK(read.about.world_size == 2);
    REQUIRE(read.points.size() == live.points.size());
    CHECK(read.points == live.points);
    REQUIRE(read.epochs.size() == live.epochs.size());
    for (std::size_t i = 0; i < read.epochs.size(); ++i) {
        CHECK(read.epochs[i].epoch == live.epochs[i].epoch);
        CHECK(read.epochs[i].step == live.epochs[i].step);
        CHECK(read.epochs[i].steps == live.epochs[i].steps);
        CHECK(read.epochs[i].complete == live.epochs[i].complete);
        CHECK(read.epochs[i].bytes_sent == live.epochs[i].bytes_sent);
        CHECK(read.epochs[i].costs == live.epochs[i].costs);
        CHECK(read.epochs[i].evaluated->loss == live.epochs[i].evaluated->loss);
    }
    CHECK(read.total.bytes_sent == live.total.bytes_sent);
    REQUIRE(live.typical_round.has_value());
    CHECK(read.typical_round == live.typical_round);
    CHECK(live.typical_round->tensors.size() == 4);
    CHECK(live.total.exchange > 0.0);
    CHECK(live.total.hidden <= live.total.exchange);
    CHECK(read.peak_memory_bytes > 0.0);
}

TEST_CASE("a last line that was cut off is left out, and said, wherever it was cut") {
    const std::string whole = run_line + step_line(1), last = step_line(2);
    for (std::size_t cut = 1; cut < last.size(); ++cut) {
        const run_log log = parse(whole + last.substr(0, cut));
        CHECK(log.steps == 1);
        REQUIRE(log.diagnostics.size() == 1);
        CHECK(log.diagnostics[0].text ==
              "the log ends inside line 3, after " + std::to_string(cut) + " bytes of it");
    }
    CHECK(parse(whole + last).diagnostics.empty());
    CHECK(parse(whole + last).steps == 2);
}

TEST_CASE("lines that are not as they are written are refused with line, expected and found") {
    CHECK(refusal("") == "line 1: expected an event \"run\", found nothing");
    CHECK(refusal("{\"event\"") == "line 1: expected an event \"run\", found a part of a line");
    CHECK(refusal("hello\n") == "line 1: expected JSON, found \"hello\"");
    CHECK(refusal("[]\n") == "line 1: expected a JSON object, found array");
    CHECK(refusal("{}\n") == "line 1: expected a member \"event\", found none");
    CHECK(refusal(step_line(1)) == "line 1: expected an event \"run\" first, found \"step\"");
    CHECK(refusal(run_line + "\n") == "line 2: expected JSON, found \"\"");
    CHECK(refusal(run_line + step_line(1) + step_line(1)) ==
          "line 3: expected \"step\" to be a whole number from 2 to 1099511627776, found 1");
    CHECK(refusal(run_line + with(step_line(1), "0.25", "-0.25")) ==
          "line 2: expected \"wait_seconds\" to be a number that is not negative, found -0.25");
    CHECK(refusal(run_line + with(step_line(1), "[12]", "[12,3]")) ==
          "line 2: expected as many tensor_message_bytes as the run has tensors, 1, found 2");
    CHECK(refusal(run_line + step_line(1, "\"low\"")) ==
          "line 2: expected \"rank_loss\" to be a number or null, found \"low\"");
    CHECK(refusal(with(run_line, "\"size\":6", "\"size\":18446744073709551615")) ==
          "line 1: expected \"size\" to be a whole number from 0 to 1099511627776, found "
          "18446744073709551615");
    CHECK(refusal(with(run_line, "\"world_size\":2", "\"world_size\":0"))
              .starts_with("line 1: expected \"world_size\" to be a whole number from 1 to"));
    CHECK(refusal(with(run_line, "[2,3]", "[[[[2]]]]")) ==
          "line 1: expected at most 4 levels, found more");
    CHECK(refusal(with(run_line, "\"1\"", "1")) ==
          "line 1: expected \"options.a\" to be a string, found 1");
    std::string many = "{";
    for (int i = 0; i < 20'000; ++i) many.append("\"").append(std::to_string(i)).append("\":0,");
    CHECK(refusal(many + "\"event\":0}\n") ==
          "line 1: expected an object of at most 16384 members, found more");
}

TEST_CASE("read_json_lines: 20,000 tensors -> all are read") {
    const scratch_file file;
    layout tensors;
    for (int i = 0; i < 20000; ++i) tensors.add("layers." + std::to_string(i), {1});
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model(tensors);
        trainer trainer{model, all_reduce{sgd{}}, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{4}, steps{1}, json_lines{file.path});
    });
    const run_log read = read_json_lines(file.path);
    REQUIRE(read.about.tensors.size() == 20000);
    CHECK(read.about.tensors.back().name == "layers.19999");
}

TEST_CASE("a round is read as it was, and refused where its times are out of order") {
    const std::string round =
        R"({"event":"round","step":2,"ready_seconds":[1],"left_seconds":[2],"arrived_seconds":[3],)"
        R"("decoded_seconds":[4],"agreed_seconds":5,"ended_seconds":6,"apply_seconds":0.5})"
        "\n";
    const std::string before = run_line + step_line(1);
    const run_log log = parse(before + round);
    CHECK(log.typical_round == detail::round_times{2, 5, 6, 0.5, {{1, 2, 3, 4}}});
    CHECK(parse(before).typical_round == std::nullopt);
    CHECK(parse(before + round + run_line).typical_round.has_value());
    const std::string other = with(run_line, "[2,3]", "[6]");
    CHECK_FALSE(parse(before + round + other).typical_round.has_value());

    const auto refused = [&](const char* from, const char* to) {
        return refusal(before + with(round, from, to));
    };
    CHECK(refused("[2]", "[0.5]") ==
          "line 3: expected \"left_seconds\" to be a number that is not below 1.000000, found 0.5");
    CHECK(refused("[1]", "[-1]") ==
          "line 3: expected \"ready_seconds\" to be a number that is not below 0.000000, found -1");
    CHECK(refused("[4]", "[1e11]").starts_with("line 3: expected \"decoded_seconds\" to be"));
    CHECK(refused("[3]", "[null]").ends_with("below 2.000000, found null"));
    CHECK(refused("[3]", "[3,3]") ==
          "line 3: expected as many arrived_seconds as the run has tensors, 1, found 2");
    CHECK(refused(":5,", ":3.5,") ==
          "line 3: expected \"agreed_seconds\" to be a number that is not below 4.000000, found "
          "3.5");
    CHECK(refused(":6,", ":4,").starts_with("line 3: expected \"ended_seconds\" to be"));
    CHECK(refused(R"(,"apply_seconds":0.5)", "") ==
          "line 3: expected a member \"apply_seconds\", found none");
}

TEST_CASE("a line without an end is refused before it fills the memory") {
    const std::string endless(detail::json_lines_reader::line_bytes_max + 100'000, ' ');
    CHECK(refusal(run_line + endless).starts_with("line 2: expected a line of at most 16777216"));
}

TEST_CASE("events of later versions are left out; losses may be null") {
    const run_log log =
        parse(run_line + "{\"event\":\"weather\",\"rain\":[1,2]}\n" + step_line(1, "null"));
    CHECK(log.steps == 1);
    CHECK(log.points[0].losses == 0);
    CHECK(log.diagnostics.empty());
}

TEST_CASE("a checkpoint that could not be written is remembered, with the reason") {
    const scratch_file file;
    {
        json_lines log(file.path);
        layout nothing;
        log.on_begin({.parameters = &nothing});
        log.on_checkpoint({.step = 3, .path = "good"});
        log.on_checkpoint({.step = 7, .path = "run", .failure = "No space left on device"});
    }
    const run_log log = read_json_lines(file.path);
    REQUIRE(log.diagnostics.size() == 1);
    CHECK(log.diagnostics[0].step == 7);
    CHECK(log.diagnostics[0].text ==
          "the checkpoint 'run' was not written: No space left on device");
}

TEST_CASE("a log that is appended to keeps what was in it; text that is no UTF-8 can be written") {
    const scratch_file file;
    layout nothing;
    for (int start = 0; start < 2; ++start) {
        json_lines log(file.path, {.append = true});
        log.on_begin({.steps_before = 5 * start,
                      .parameters = &nothing,
                      .description = "folder = \xff\xfe\n"});
    }
    const run_log log = read_json_lines(file.path);
    CHECK(log.fits == 2);
    CHECK(log.about.steps_before == 5);
    CHECK(log.about.options[0].second == "\xef\xbf\xbd\xef\xbf\xbd");
    {
        json_lines anew(file.path);
        anew.on_begin({.parameters = &nothing});
    }
    CHECK(read_json_lines(file.path).fits == 1);
}

TEST_CASE("an evaluation after the last epoch's report is read, and one without labels") {
    const std::string end =
        R"({"event":"end","epochs":0,"steps":1,"step":1,"seconds_since_start":2.0,"stopped_early":)"
        R"(true,"loss":0.5,"test_loss":0.125,"test_accuracy":0.5,"test_examples":4,)" +
        costs(12) + "}\n";
    const run_log log = parse(run_line + step_line(1) + end);
    REQUIRE(log.last_evaluated() != nullptr);
    CHECK(log.last_evaluated()->evaluated->loss == 0.125);
    CHECK(log.last_evaluated()->evaluated->accuracy == 0.5);
    CHECK(log.last_evaluated()->step == 1);
    CHECK(refusal(run_line + with(end, "0.5,\"test_examples", "1.5,\"test_examples")) ==
          "line 2: expected \"test_accuracy\" to be a number from 0 to 1, found 1.5");

    const run_log unlabelled =
        parse(run_line + with(end, "0.5,\"test_examples", "null,\"test_examples"));
    CHECK(std::isnan(unlabelled.last_evaluated()->evaluated->accuracy));
    CHECK(unlabelled.last_evaluated()->evaluated->loss == 0.125);
}

TEST_CASE("a run that stops before its last epoch was evaluated is evaluated in log and recorder") {
    const scratch_file file;
    run_log live;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 4}};
        const auto stop = [](const epoch_report& epoch) {
            return epoch.epoch == 1 ? fit_control::stop : fit_control::keep_going;
        };
        json_lines log(file.path);
        run_recorder recorder;
        trainer.fit(testing::numbered{24}, epochs{4}, evaluate_on{testing::numbered{5}, 2}, stop,
                    log, recorder);
        if (transport.rank() == 0) live = recorder.log();
    });
    const run_log read = read_json_lines(file.path);
    for (const run_log* log : {&std::as_const(live), &read}) {
        CHECK(log->stopped_early);
        REQUIRE(log->epochs.size() == 1);
        REQUIRE(log->epochs[0].evaluated);
        CHECK(log->epochs[0].evaluated->loss == 2.0);           // the mean of 0..4
        CHECK(std::isnan(log->epochs[0].evaluated->accuracy));  // it has no labels
    }
}

TEST_CASE("lines that could not be written are a remark") {
    const run_log log =
        parse(run_line + step_line(1) +
              "{\"event\":\"skipped\",\"lines\":7,\"reason\":\"File too large\"}\n" + step_line(9));
    REQUIRE(log.diagnostics.size() == 1);
    CHECK(log.diagnostics[0].step == 1);
    CHECK(log.diagnostics[0].text ==
          "7 lines of the log could not be written: File too large; bytes and seconds are "
          "estimates there");
    CHECK(log.steps == 9);  // the ninth stands for those that are not told
    CHECK(refusal(run_line + "{\"event\":\"skipped\",\"lines\":0,\"reason\":\"\"}\n")
              .starts_with("line 2: expected \"lines\" to be a whole number from 1 to"));
}

TEST_CASE("a log that may be there") {
    const scratch_file file;
    CHECK_FALSE(read_json_lines_if_there(file.path));
    file.write("");
    CHECK_FALSE(read_json_lines_if_there(file.path));
    file.write(run_line.substr(0, 20));
    CHECK_FALSE(read_json_lines_if_there(file.path));
    file.write(run_line);
    CHECK(read_json_lines_if_there(file.path)->fits == 1);
    file.write("hello\n");
    CHECK_THROWS_AS(read_json_lines_if_there(file.path), detail::malformed_log);
    CHECK_THROWS_AS(read_json_lines_if_there(std::filesystem::temp_directory_path()), io_failure);
}

TEST_CASE("a log that may be there: a FIFO or a device -> nothing, without blocking") {
    CHECK_FALSE(read_json_lines_if_there("/dev/null"));
    const testing::scratch_folder folder("log_in_fifo");
    const auto fifo = folder.path() / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_FALSE(read_json_lines_if_there(fifo));
    detail::pipe_ends pipe = detail::pipe_ends::open();
    REQUIRE(::write(pipe.write.handle(), run_line.data(), run_line.size()) ==
            static_cast<ssize_t>(run_line.size()));
    pipe.write.close();
    // A pipe that is asked for by its name is read up to its end.
    CHECK(read_json_lines("/dev/fd/" + std::to_string(pipe.read.handle())).fits == 1);
}

TEST_CASE("logs of one name are told apart by their folders, which json_lines makes") {
    const std::filesystem::path root =
        std::filesystem::temp_directory_path() / ("sotto_logs_" + std::to_string(::getpid()));
    const std::vector<std::string> logs{root / "a" / "run.jsonl", root / "b" / "run.jsonl",
                                        root / "c" / "b" / "run.jsonl", root / "b" / "other.jsonl"};
    const layout nothing;
    for (const auto& log : logs) json_lines(log).on_begin({.parameters = &nothing});
    const std::vector<run_log> runs = read_json_lines(logs);
    std::filesystem::remove_all(root);
    REQUIRE(runs.size() == 4);
    CHECK(runs[0].name == "a/run");
    CHECK(runs[1].name == root.filename().string() + "/b/run");
    CHECK(runs[2].name == "c/b/run");
    CHECK(runs[3].name == "other");
}

TEST_CASE("a file that is not there is named with the system's reason") {
    CHECK_THROWS_WITH_AS(
        read_json_lines("/nowhere/run.jsonl"),
        "read_json_lines: '/nowhere/run.jsonl' cannot be opened: No such file or directory",
        io_failure);
    CHECK_THROWS_AS(read_json_lines(std::filesystem::temp_directory_path()), io_failure);
}
