#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using namespace sotto::detail::checkpoint;
using testing::memory_disk;
using testing::memory_files;

namespace {

architecture small() {
    architecture kind;
    kind.description = "a test's";
    kind.parameters.add("layer.weight", {2, 3}).add("layer.bias", {2}, tensor_kind::bias);
    kind.buffers.add("mean", {2});
    return kind;
}

// All values follow from the step.
std::vector<float> values_of(std::int64_t step, std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(step) + 0.25f * static_cast<float>(i);
    return values;
}

std::string publish(memory_files& files, std::int64_t step, const architecture& kind = small(),
                    double loss = 0.5) {
    return publish_model(
        files, "group", kind,
        {.step = step, .label_loss = loss, .group = "1", .architecture = kind.identity()},
        values_of(step, 8), values_of(-step, 2));
}

}  // namespace

TEST_CASE("a published model is read whole, by whoever has not read it") {
    memory_files files;
    CHECK_FALSE(read_published(files, "group", small()));
    REQUIRE(publish(files, 50) == "");
    const auto found = read_published(files, "group", small());
    REQUIRE(found);
    CHECK(found->facts.step == 50);
    CHECK(found->facts.label_loss == 0.5);
    CHECK(found->facts.group == "1");
    CHECK(found->parameters == values_of(50, 8));
    CHECK(found->buffers == values_of(-50, 2));
    CHECK_FALSE(read_published(files, "group", small(), 50));
    CHECK(read_published(files, "group", small(), 49));
}

TEST_CASE("the newest is read, and the last two are kept") {
    memory_files files;
    for (const std::int64_t step : {0, 50, 100, 150}) REQUIRE(publish(files, step) == "");
    CHECK(read_published(files, "group", small())->facts.step == 150);
    std::error_code why;
    CHECK(generations(files, "group", why) == std::vector<std::int64_t>{150, 100});
}

TEST_CASE("who writes may begin anew: what an earlier training left goes with its first model") {
    memory_files files;
    for (const std::int64_t step : {950, 1000}) REQUIRE(publish(files, step) == "");
    CHECK_FALSE(read_published(files, "group", small(), 1000));
    REQUIRE(publish(files, 50) == "");
    const auto found = read_published(files, "group", small(), 1000);
    REQUIRE(found);
    CHECK(found->facts.step == 50);
    CHECK_FALSE(read_published(files, "group", small(), 50));
    std::error_code why;
    CHECK(generations(files, "group", why) == std::vector<std::int64_t>{50});
}

TEST_CASE("how others do on the publisher's data is told with it") {
    memory_files files;
    const architecture kind = small();
    const std::vector<judgement> judged{{0, 1.25}, {12, 0.1}};
    REQUIRE(publish_model(files, "group", kind,
                          {.step = 1, .architecture = kind.identity(), .judged = judged},
                          values_of(1, 8), values_of(-1, 2)) == "");
    CHECK(read_published(files, "group", kind)->facts.judged == judged);
    CHECK(sotto::detail::checkpoint::read_judgements("")->empty());
    for (const char* text : {"0", "0:", ":1", "0:1  1:2", "a:1", "0:x", "0:1:2", "0:1,1:2"})
        CHECK_FALSE(sotto::detail::checkpoint::read_judgements(text));
}

TEST_CASE("how data were dealt to the publisher is told where it is known") {
    memory_files files;
    REQUIRE(publish(files, 50) == "");
    CHECK(read_published(files, "group", small())->facts.deal == "");
    REQUIRE(publish_model(files, "group", small(),
                          {.step = 100, .architecture = small().identity(), .deal = "one \"each\""},
                          values_of(1, 8), values_of(-1, 2)) == "");
    CHECK(read_published(files, "group", small())->facts.deal == "one \"each\"");
}

TEST_CASE("losses that are no numbers are known as such") {
    memory_files files;
    REQUIRE(publish(files, 1, small(), std::nan("")) == "");
    CHECK(std::isnan(read_published(files, "group", small())->facts.label_loss));
    REQUIRE(publish(files, 2, small(), HUGE_VAL) == "");
    CHECK(std::isinf(read_published(files, "group", small())->facts.label_loss));
}

TEST_CASE("a file with any one byte changed or cut off is not there: the one before it is read") {
    memory_files files;
    REQUIRE(publish(files, 50) == "");
    REQUIRE(publish(files, 100) == "");
    auto& newest = files.disk().names.at(file_name(100))->now;
    const bytes whole = newest;
    for (std::size_t i = 0; i < whole.size(); i += 7) {
        newest = whole;
        newest[i] ^= std::byte{0x10};
        CAPTURE(i);
        const auto found = read_published(files, "group", small());
        REQUIRE(found);
        CHECK(found->facts.step == 50);
        newest.resize(i);
        CHECK(read_published(files, "group", small())->facts.step == 50);
    }
}

TEST_CASE("published models: the newest cannot be read -> the one before it is read") {
    for (const int failure : {EIO, EACCES, ENOENT}) {
        CAPTURE(failure);
        memory_files files;
        REQUIRE(publish(files, 50) == "");
        REQUIRE(publish(files, 100) == "");
        const auto fail_at_opening = [&] {
            files.disk().looks = 0;
            files.disk().look_fails_at = 1;
            files.disk().failure = failure;
        };
        fail_at_opening();
        const auto found = read_published(files, "group", small());
        REQUIRE(found);
        CHECK(found->facts.step == 50);
        fail_at_opening();
        const published_survey survey = survey_published(files, "group");
        REQUIRE(survey.newest);
        CHECK(survey.newest->step == 50);
        REQUIRE(survey.torn.size() == 1);
        CHECK(survey.torn[0].why == "cannot open 'group/" + file_name(100) +
                                        "': " + std::generic_category().message(failure));
    }
}

TEST_CASE("where all are damaged, that is said") {
    memory_files files;
    REQUIRE(publish(files, 50) == "");
    files.disk().names.at(file_name(50))->now.resize(100);
    CHECK_THROWS_WITH_AS(read_published(files, "group", small()),
                         doctest::Contains("of the models in 'group' none is whole: "), io_failure);
    REQUIRE(publish(files, 60) == "");
    CHECK(read_published(files, "group", small())->facts.step == 60);
}

TEST_CASE("a survey tells of the newest whole model, and of what is newer and is not") {
    memory_files files;
    CHECK_FALSE(survey_published(files, "group").newest);
    CHECK(survey_published(files, "group").kept == 0);
    REQUIRE(publish(files, 50) == "");
    REQUIRE(publish(files, 100, small(), 0.25) == "");
    const published_survey whole = survey_published(files, "group");
    REQUIRE(whole.newest);
    CHECK(whole.newest->step == 100);
    CHECK(whole.newest->label_loss == 0.25);
    CHECK(whole.newest->group == "1");
    CHECK(whole.newest->architecture == small().identity());
    auto& newest = files.disk().names.at(file_name(100))->now;
    CHECK(whole.bytes == std::ssize(newest));
    CHECK(whole.kept == 2);
    CHECK(whole.torn.empty());
    newest.resize(newest.size() - 1);
    const published_survey torn = survey_published(files, "group");
    REQUIRE(torn.newest);
    CHECK(torn.newest->step == 50);
    CHECK(torn.kept == 2);
    REQUIRE(torn.torn.size() == 1);
    CHECK(torn.torn[0].step == 100);
    CHECK(torn.torn[0].why.find("is damaged") != std::string::npos);
    files.disk().names.at(file_name(50))->now.clear();
    const published_survey none = survey_published(files, "group");
    CHECK_FALSE(none.newest);
    CHECK(none.torn.size() == 2);
}

TEST_CASE("a survey says whether all weights and buffers are numbers") {
    const architecture kind = small();
    for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF})
        for (std::size_t at = 0; at < 10; ++at) {
            memory_files files;
            REQUIRE(publish(files, 50) == "");
            CHECK(survey_published(files, "group").is_finite);
            std::vector<float> parameters = values_of(100, 8), buffers = values_of(-100, 2);
            (at < 8 ? parameters[at] : buffers[at - 8]) = bad;
            REQUIRE(publish_model(files, "group", kind,
                                  {.step = 100, .architecture = kind.identity()}, parameters,
                                  buffers) == "");
            const published_survey found = survey_published(files, "group");
            CHECK(found.newest->step == 100);
            CHECK_FALSE(found.is_finite);
        }
}

TEST_CASE("a survey refuses what is no published model, and says where the system refused") {
    memory_files files;
    file_writer file(files, "group", 7, 2);
    sotto::detail::file_plan plan;
    plan.note("format", "sotto.checkpoint");
    file.write_header(format_header(plan.finish()));
    REQUIRE(file.finish());
    CHECK_THROWS_WITH_AS(survey_published(files, "group"), doctest::Contains("no published model"),
                         mismatch);
    files.disk().look_fails_at = files.disk().looks;
    CHECK_THROWS_WITH_AS(survey_published(files, "group"), doctest::Contains("cannot list 'group'"),
                         io_failure);
}

TEST_CASE("models of another architecture are refused with both") {
    memory_files files;
    REQUIRE(publish(files, 50) == "");
    auto other = small();
    other.description = "another's";
    CHECK(other.identity() != small().identity());
    auto wider = small();
    wider.parameters.add("more", {1});
    CHECK(wider.identity() != small().identity());
    std::string said;
    try {
        read_published(files, "group", other);
    } catch (const mismatch& e) {
        said = e.what();
    }
    CHECK(said.find(hex(small().identity())) != said.npos);
    CHECK(said.find("expected " + hex(other.identity())) != said.npos);
}

TEST_CASE("what a run saved for itself is no published model") {
    memory_files files;
    file_writer file(files, "group", 7, 2);
    sotto::detail::file_plan plan;
    plan.note("format", "sotto.checkpoint");
    file.write_header(format_header(plan.finish()));
    REQUIRE(file.finish());
    CHECK_THROWS_WITH_AS(read_published(files, "group", small()),
                         doctest::Contains("format is 'sotto.checkpoint'; expected 'sotto.model'"),
                         mismatch);
}

TEST_CASE("what cannot be written is said, and what was there stays") {
    memory_files files;
    REQUIRE(publish(files, 50) == "");
    const std::int64_t before = files.disk().calls;
    REQUIRE(publish(files, 100) == "");
    const std::int64_t calls = files.disk().calls - before;
    REQUIRE(calls > 5);
    for (std::int64_t i = 0; i < calls; ++i) {
        memory_files there;
        memory_disk& trial = there.disk();
        REQUIRE(publish(there, 50) == "");
        trial.failure = ENOSPC;
        trial.fails_at = trial.calls + i;
        const std::string problem = publish(there, 100);
        trial.fails_at = memory_disk::never;
        const auto found = read_published(there, "group", small());
        REQUIRE(found);
        CHECK(found->facts.step == (problem.empty() ? 100 : found->facts.step));
        CHECK((found->facts.step == 50 || found->facts.step == 100));
        CHECK(found->parameters == values_of(found->facts.step, 8));
    }
}

TEST_CASE("digests are read from their digits alone") {
    const digest value = small().identity();
    CHECK(digest_of_hex(hex(value)) == value);
    CHECK_FALSE(digest_of_hex(""));
    CHECK_FALSE(digest_of_hex(hex(value).substr(1)));
    CHECK_FALSE(digest_of_hex("X" + hex(value).substr(1)));
}
