#include "sotto/logging/append_churn.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/detail/json_lines_reader.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "support/folders.hpp"

using namespace sotto;
using testing::scratch_folder;

namespace {

const layout nothing;

std::string refusal(const std::string& members) {
    detail::json_lines_reader reader("log");
    reader.line(
        R"({"event":"run","rank":0,"world_size":1,"epochs":1,"examples":8,"steps_an_epoch":2,)"
        R"("step":0,"options":{},"tensors":[]})");
    try {
        reader.line(R"({"event":"churn",)" + members + "}");
    } catch (const detail::malformed_log& e) {
        return e.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("what changed between trainings is added to a log, and read with the run") {
    const scratch_folder folder("churn_lines");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    {
        json_lines log(path);
        log.on_begin({.parameters = &nothing});
        log.on_step({.step = 1, .round = {.loss = 1.0}});
        log.on_end({.steps = 1, .step = 1});
    }
    append_churn(path, "the same again", {.difference = 0.0625, .flips = 0.125, .examples = 2000});
    append_churn(path, "\xff another", {.difference = 0.25, .flips = 0.5, .examples = 8});
    const run_log read = read_json_lines(path);
    CHECK(read.steps == 1);
    CHECK(read.ended);
    CHECK(read.diagnostics.empty());
    REQUIRE(read.churns.size() == 2);
    CHECK(read.churns[0].to == "the same again");
    CHECK(read.churns[0].found.difference == 0.0625);
    CHECK(read.churns[0].found.flips == 0.125);
    CHECK(read.churns[0].found.examples == 2000);
    CHECK(read.churns[1].to == "\xef\xbf\xbd another");  // not UTF-8
}

TEST_CASE("a churn goes to a log that is there, or nowhere") {
    const scratch_folder folder("churn_lines_nowhere");
    const std::filesystem::path path = folder.path() / "run.jsonl";
    CHECK_THROWS_WITH_AS(
        append_churn(path, "another", {}),
        ("append_churn: '" + path.string() + "' cannot be written: No such file or directory")
            .c_str(),
        io_failure);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK_THROWS_AS(append_churn(folder.path(), "another", {}), io_failure);
}

TEST_CASE("what is no churn is refused by name") {
    const std::string good = R"("to":"b","difference":0.5,"flips":1,"examples":3)";
    const auto but = [&](const std::string& from, const std::string& to) {
        std::string changed = good;
        changed.replace(changed.find(from), from.size(), to);
        return refusal(changed);
    };
    CHECK(refusal(good) == "accepted");
    CHECK(but("\"to\":\"b\",", "") == "'log', line 2: expected a member \"to\", found none");
    CHECK(but("\"b\"", "1") == "'log', line 2: expected \"to\" to be a string, found 1");
    CHECK(but("0.5", "-0.5").find("\"difference\" to be a number that is not negative") !=
          std::string::npos);
    CHECK(but("0.5", "1.5").find("\"difference\"") != std::string::npos);
    CHECK(but("0.5", "null").find("\"difference\"") != std::string::npos);
    CHECK(but("\"flips\":1", "\"flips\":2").find("\"flips\"") != std::string::npos);
    CHECK(but("\"examples\":3", "\"examples\":-3")
              .starts_with("'log', line 2: expected \"examples\" to be a whole number from 0 to "));
}
