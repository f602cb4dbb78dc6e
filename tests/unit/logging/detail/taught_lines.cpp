#include "sotto/logging/detail/taught_lines.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/detail/json_lines_reader.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "support/folders.hpp"
#include "support/full_at.hpp"
#include "support/taught_run.hpp"

using namespace sotto;
using namespace std::chrono_literals;
using testing::scratch_folder;

namespace {

const layout nothing;

/// The member "taught" of every step's line.
std::vector<nlohmann::json> taught_in(const std::filesystem::path& path) {
    std::vector<nlohmann::json> found;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        const auto parsed = nlohmann::json::parse(line);
        if (parsed.at("event") == "step") found.push_back(parsed.value("taught", nlohmann::json()));
    }
    return found;
}

const std::string run_line =
    R"({"event":"run","rank":2,"world_size":4,"epochs":1,"examples":8,"steps_an_epoch":2,"step":0,)"
    R"("options":{},"tensors":[],"in_step":true,"model":"group-1","model_ranks":2})";

std::string step_line(const std::string& taught) {
    return R"({"event":"step","step":11,"epoch":0,"seconds_since_start":1,"rank_loss":1,)"
           R"("examples":4,"load_seconds":0,"compute_seconds":0.5,"compress_seconds":0,)"
           R"("wait_seconds":0,"apply_seconds":0,"dense_bytes":0,"message_bytes":0,)"
           R"("bytes_sent":0,"bytes_received":0,"tensor_message_bytes":[],"taught":)" +
           taught + "}";
}

const std::string heard =
    R"({"teachers":1,"listening_seconds":0.125,"age":3,"weight":0.5,"distillation_loss":0.25,)"
    R"("agreement":0.75,"standings":[{"group":0,"step":7,"label_loss":1.5},)"
    R"({"group":2,"why":"unreadable","details":"no file"}]})";

run_log read(const std::string& taught) {
    detail::json_lines_reader reader("log");
    reader.line(run_line);
    reader.line(step_line(taught));
    return reader.take();
}

std::string refusal(const std::string& taught) {
    try {
        read(taught);
    } catch (const detail::malformed_log& e) {
        const std::string what = e.what();
        CHECK(what.starts_with("'log', line 2: expected "));
        return what.substr(std::string_view("'log', line 2: expected ").size());
    }
    return "accepted";
}

std::string heard_but(const std::string& from, const std::string& to) {
    std::string changed = heard;
    const std::size_t at = changed.find(from);
    REQUIRE(at != std::string::npos);
    return changed.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what is read of teachers is what a recorder kept of the same steps") {
    const scratch_folder folder("taught_lines");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    run_recorder recorder;
    {
        json_lines log(path);
        const run_info info{.rank = 4,
                            .world_size = 6,
                            .parameters = &nothing,
                            .model = "group-2",
                            .model_rank = 0,
                            .model_ranks = 2};
        log.on_begin(info);
        recorder.on_begin(info);
        testing::two_teachers teachers;
        round_report total;
        for (std::int64_t s = 1; s <= 600; ++s) {
            step_report step{.step = s, .round = {.loss = 1.0, .compute = 5ms}};
            step.round.taught = teachers.at(s);
            if (step.round.taught.teachers > 0) step.round.taught.listening = 2ms;
            accumulate(total, step.round);
            log.on_step(step);
            recorder.on_step(step);
        }
        const epoch_report epoch{.epoch = 1, .step = 600, .total = total};
        log.on_epoch(epoch);
        recorder.on_epoch(epoch);
        log.on_end({.step = 600, .total = total});
        recorder.on_end({.step = 600, .total = total});
    }
    const run_log back = read_json_lines(folder.path() / "run.group-2.jsonl");
    const run_log& live = recorder.log();
    CHECK(back.about.model == "group-2");
    CHECK(back.about.model_ranks == 2);
    CHECK(back.about.ranks() == 2);
    CHECK(back.about.world_size == 6);
    CHECK(back.workers() == 2);
    CHECK(back.taught.record == live.taught.record);
    CHECK(back.taught.points() == live.taught.points());
    CHECK(back.taught.record.teachers().size() == 2);
    CHECK(back.total.listening == doctest::Approx(550 * 0.002));
    CHECK(back.total.listening == live.total.listening);
    CHECK(back.epochs[0].costs == live.epochs[0].costs);
}

TEST_CASE("a step's line holds what is known of each teacher, and nothing of one that is not") {
    const scratch_folder folder("taught_lines_members");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    json_lines log(path);
    log.on_begin({.parameters = &nothing});
    log.on_step({.step = 1});
    std::array<detail::teacher_status, 2> standings{detail::teacher_status{.group = 0},
                                                    detail::teacher_status{.group = 2}};
    log.on_step({.step = 2, .round = {.taught = {.standings = standings}}});
    standings[0] = {.group = 0, .step = 50, .why = detail::left_out::no, .label_loss = 0.5};
    standings[1].why = detail::left_out::other_architecture;
    standings[1].details = "is a model of another";
    detail::taught_report round{.teachers = 1,
                                .age = -2,
                                .weight = 0.5,
                                .distillation_loss = std::numeric_limits<double>::quiet_NaN(),
                                .agreement = 0.25,
                                .listening = 250ms,
                                .standings = standings};
    log.on_step({.step = 3, .round = {.taught = round}});
    log.on_step({.step = 4, .round = {.taught = round}});
    const auto lines = taught_in(path);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].is_null());
    CHECK(lines[1] ==
          nlohmann::json::parse(R"({"teachers":0,"listening_seconds":0,"standings":[)"
                                R"({"group":0,"why":"absent"},{"group":2,"why":"absent"}]})"));
    const std::string third =
        R"({"teachers":1,"listening_seconds":0.25,"age":-2,"weight":0.5,"distillation_loss":null,)"
        R"("agreement":0.25,"standings":[{"group":0,"step":50,"label_loss":0.5},)"
        R"({"group":2,"why":"other architecture")";
    CHECK(lines[2] == nlohmann::json::parse(third + R"(,"details":"is a model of another"}]})"));
    CHECK(lines[3] == nlohmann::json::parse(third + "}]}"));  // details once
}

TEST_CASE("details come again where they changed, after a line that got lost, and in a new file") {
    detail::taught_writer writer;
    std::array<detail::teacher_status, 1> standings{
        detail::teacher_status{.group = 1, .why = detail::left_out::unreadable, .details = "a"}};
    const auto told = [&] {
        const auto one = writer.fields_of({.standings = standings})["standings"][0];
        return one.contains("details") ? one["details"].get<std::string>() : "-";
    };
    CHECK(told() == "a");
    CHECK(told() == "-");
    standings[0].details = "b";
    CHECK(told() == "b");
    standings[0].details.clear();
    CHECK(told() == "-");
    standings[0].details = "b";
    CHECK(told() == "b");
    writer.forget();
    CHECK(told() == "b");

    const scratch_folder folder("taught_lines_lost");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    json_lines log(path, {.on_failure = nullptr});
    const auto step = [&](std::int64_t number) {
        log.on_step({.step = number, .round = {.taught = {.standings = standings}}});
    };
    log.on_begin({.parameters = &nothing});
    {
        const testing::full_at limit(std::filesystem::file_size(path));
        step(1);
    }
    step(2);
    step(3);
    log.on_begin({.steps_before = 3, .parameters = &nothing});
    step(4);
    const auto lines = taught_in(path);
    REQUIRE(lines.size() == 3);
    CHECK(lines[0]["standings"][0].contains("details"));
    CHECK_FALSE(lines[1]["standings"][0].contains("details"));
    CHECK(lines[2]["standings"][0].contains("details"));
}

TEST_CASE("what is published is told in all, so that a line may be missing; a problem once") {
    const scratch_folder folder("taught_lines_published");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    run_log live;
    live.begin({});
    {
        json_lines log(path, {.every_steps = 2});
        log.on_begin({.parameters = &nothing});
        const std::array<detail::teacher_status, 1> standings{detail::teacher_status{.group = 1}};
        const auto step = [&](std::int64_t number, detail::taught_report round) {
            round.standings = standings;
            log.on_step({.step = number, .round = {.taught = round}});
            live.add(run_log::step{.number = number, .taught = round});
        };
        step(1, {.bytes_sent = 100});
        step(2, {});
        step(3, {.skipped = 1});
        step(4, {.bytes_sent = 100, .problem = "full"});
        step(5, {.problem = "full"});
        step(6, {.problem = "full"});
        step(7, {});
        step(8, {});
        step(9, {});
        step(10, {});
        log.on_begin({.steps_before = 10, .parameters = &nothing});
        step(12, {.bytes_sent = 50, .skipped = 2});
        log.on_end({.step = 12});
    }
    const auto lines = taught_in(path);
    REQUIRE(lines.size() == 6);
    const std::string start =
        R"({"teachers":0,"listening_seconds":0,"standings":[{"group":1,"why":"absent"}])";
    const auto told = [&](const std::string& rest) {
        return nlohmann::json::parse(start + rest + "}");
    };
    CHECK(lines[0] == told(R"(,"model_bytes_sent":100)"));
    CHECK(lines[1] == told(R"(,"model_bytes_sent":200,"models_skipped":1,"problem":"full")"));
    CHECK(lines[2] == told(R"(,"model_bytes_sent":200,"models_skipped":1)"));
    CHECK(lines[3] == told(R"(,"model_bytes_sent":200,"models_skipped":1,"problem":"")"));
    CHECK(lines[4] == told(R"(,"model_bytes_sent":200,"models_skipped":1)"));
    CHECK(lines[5] == told(R"(,"model_bytes_sent":50,"models_skipped":2)"));
    const detail::published_record read = read_json_lines(path).taught.record.published();
    CHECK(read.bytes == 250);
    CHECK(read.skipped == 3);
    CHECK(read.last == "full");
    CHECK(read.problem == "");
    CHECK(read.since == 7);  // step 8 stands for it as well
    CHECK(read.bytes == live.taught.record.published().bytes);
    CHECK(read.skipped == live.taught.record.published().skipped);
}

TEST_CASE("after a line that got lost it is told that there is no problem") {
    detail::taught_writer writer;
    const auto told = [&](const char* problem) {
        const detail::taught_report round{.problem = problem};
        const bool tells = writer.count(round);
        const auto fields = writer.fields_of(round);
        return !tells                       ? std::string("nothing")
               : fields.contains("problem") ? fields["problem"].get<std::string>()
                                            : std::string("-");
    };
    CHECK(told("") == "nothing");
    CHECK(told("a") == "a");
    CHECK(told("a") == "-");
    writer.forget();
    CHECK(told("") == "");
    CHECK(told("") == "nothing");
    CHECK(told("b") == "b");
    writer.begin();
    CHECK(told("") == "nothing");
}

TEST_CASE("more teachers than a log tells of can be read back") {
    std::vector<detail::teacher_status> all;
    for (int group = 0; group < 5000; ++group)
        all.push_back({.group = group, .step = 0, .why = detail::left_out::no});
    detail::taught_writer writer;
    const auto fields = writer.fields_of({.teachers = 5000, .standings = all});
    CHECK(fields["standings"].size() == detail::teachers_max);
    CHECK(read(fields.dump()).taught.record.teachers().size() == detail::teachers_max);
    all.resize(detail::teachers_max + 1);
    auto longer = fields;
    longer["standings"].push_back({{"group", 6000}, {"step", 0}});
    CHECK(refusal(longer.dump()) == "at most 4096 standings, found more");
}

TEST_CASE("a step with teachers is read as it was") {
    const run_log log = read(heard);
    const detail::taught_means& point = log.taught.points().at(0);
    CHECK(point.distillation_loss.value() == 0.25);
    CHECK(point.agreement.value() == 0.75);
    CHECK(point.age.value() == 3.0);
    CHECK(point.weight(0) == 0.5);
    CHECK(point.weight(1) == 0.0);
    CHECK(log.total.listening == doctest::Approx(11 * 0.125));  // it stands for those before it
    const auto teachers = log.taught.record.teachers();
    REQUIRE(teachers.size() == 2);
    CHECK(teachers[0].label_loss == 1.5);
    CHECK(teachers[0].newest == 7);
    CHECK(teachers[1].stands == detail::left_out::unreadable);
    CHECK(teachers[1].details == "no file");
    for (const detail::left_out why : detail::reasons_to_leave_out) {
        const std::string name = std::string("\"") + name_of(why) + "\"";
        CHECK(read(heard_but("\"unreadable\"", name)).taught.record.teachers()[1].stands == why);
    }
    CHECK(refusal(heard_but("0.25", "null")) == "accepted");  // a loss that ran away
    CHECK(refusal(heard_but("\"age\":3", "\"age\":-3")) == "accepted");
    CHECK(refusal(R"({"teachers":0,"listening_seconds":0,"standings":[]})") == "accepted");
    // A strategy that tells of nobody by name.
    CHECK(refusal(heard_but("\"teachers\":1", "\"teachers\":0")) == "accepted");
}

TEST_CASE("what is not as it is written is refused, and says what was expected") {
    CHECK(refusal("[]") == "\"taught\" to be an object, found array");
    CHECK(refusal("{}") == "a member \"teachers\", found none");
    CHECK(refusal(heard_but("\"teachers\":1", "\"teachers\":-1"))
              .starts_with("\"teachers\" to be a whole number from 0 to "));
    CHECK(refusal(heard_but("\"teachers\":1", "\"teachers\":2")) ==
          "at most as many teachers as standings without a \"why\", 1, found 2");
    CHECK(refusal(heard_but("0.125", "-0.125")) ==
          "\"listening_seconds\" to be a number that is not negative, found -0.125");
    CHECK(refusal(heard_but("0.125", "1e11"))
              .starts_with("\"listening_seconds\" to be a number that is not negative"));
    CHECK(refusal(heard_but("\"age\":3,", "")) == "a member \"age\", found none");
    CHECK(refusal(heard_but("\"age\":3", "\"age\":3.5"))
              .starts_with("\"age\" to be a whole number from -"));
    CHECK(refusal(heard_but("0.5", "-0.5")) ==
          "\"weight\" to be a number that is not negative, found -0.5");
    CHECK(refusal(heard_but("0.25", "\"low\"")) ==
          "\"distillation_loss\" to be a number or null, found \"low\"");
    CHECK(refusal(heard_but("0.75", "1.75")) ==
          "\"agreement\" to be a number from 0 to 1, found 1.75");
    CHECK(refusal(heard_but("\"standings\"", "\"others\"")) ==
          "a member \"standings\", found none");
    CHECK(refusal(heard_but("\"group\":2", "\"group\":0"))
              .starts_with("\"group\" to be a whole number from 1 to "));
    CHECK(refusal(heard_but("\"group\":0,", "")) == "a member \"group\", found none");
    CHECK(refusal(heard_but("\"step\":7", "\"step\":-7"))
              .starts_with("\"step\" to be a whole number from 0 to "));
    CHECK(refusal(heard_but("\"step\":7,", "")) ==
          "a teacher that is listened to to have a \"step\", found none");
    CHECK(refusal(heard_but("\"unreadable\"", "\"listened to\"")) ==
          "\"why\" to be a reason to leave a teacher out, found \"listened to\"");
    CHECK(refusal(heard_but("\"unreadable\"", "4")) == "\"why\" to be a string, found 4");
    CHECK(refusal(heard_but("\"no file\"", "7")) == "\"details\" to be a string, found 7");
    const auto publishing = [](const std::string& told) {
        return refusal(heard_but("\"age\":3", told + ",\"age\":3"));
    };
    CHECK(publishing(R"("model_bytes_sent":8,"models_skipped":1,"problem":"")") == "accepted");
    CHECK(publishing(R"("model_bytes_sent":-1)")
              .starts_with("\"model_bytes_sent\" to be a whole number from 0 to "));
    CHECK(publishing(R"("models_skipped":0.5)")
              .starts_with("\"models_skipped\" to be a whole number from 0 to "));
    CHECK(publishing(R"("problem":null)") == "\"problem\" to be a string, found null");
    CHECK(refusal(heard_but("1.5", "[]")) == "\"label_loss\" to be a number or null, found array");
    CHECK(refusal(heard_but("{\"group\":2,\"why\":\"unreadable\",\"details\":\"no file\"}", "2")) ==
          "\"standings[]\" to be an object, found 2");
}

TEST_CASE("a model's name and its ranks are checked") {
    const auto refused = [](const std::string& from, const std::string& to) -> std::string {
        std::string changed = run_line;
        changed.replace(changed.find(from), from.size(), to);
        detail::json_lines_reader reader("log");
        try {
            reader.line(changed);
        } catch (const detail::malformed_log& e) {
            return e.what();
        }
        return "accepted";
    };
    CHECK(refused("\"group-1\"", "1") ==
          "'log', line 1: expected \"model\" to be a string, found 1");
    CHECK(refused("\"model_ranks\":2", "\"model_ranks\":5") ==
          "'log', line 1: expected \"model_ranks\" to be a whole number from 1 to 4, found 5");
    CHECK(refused(",\"model_ranks\":2", "") ==
          "'log', line 1: expected a member \"model_ranks\", found none");
}
