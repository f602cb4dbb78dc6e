#include "sotto/trainer/model_path.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/report/html_report.hpp"
#include "sotto/logging/merge_rank_logs.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/folders.hpp"

using namespace sotto;
using testing::scratch_folder;

namespace {

const auto examples = data::digits(240, random_stream{3});

std::set<std::string> files_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file()) names.insert(entry.path().filename().string());
    return names;
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Two groups of two ranks each, with logs; what each rank's recorder kept.
std::array<run_log, 4> train(const std::filesystem::path& folder, json_lines::options options = {},
                             std::int64_t count = 24) {
    std::array<run_log, 4> kept;
    run_in_process(4, [&](auto& transport) {
        models::mlp model{784, 12, 10};
        const codistillation strategy{
            all_reduce<momentum_sgd>{momentum_sgd{.learning_rate = 0.05}}, soft_cross_entropy{},
            checkpoint_exchange{.folder = folder / "meet", .in_background = false},
            codistillation_groups{.every = 5}};
        trainer trainer{model, strategy, transport, {.batch_size = 10, .seed = 5}};
        json_lines log(folder / "run.jsonl", options);
        run_recorder recorder("kept");
        trainer.fit(examples, steps{count}, log, recorder, html_report{folder / "run.html"});
        trainer.fit(examples, steps{2}, log, recorder);  // goes on in the same files
        kept[static_cast<std::size_t>(transport.rank())] = recorder.log();
    });
    return kept;
}

}  // namespace

TEST_CASE("a model's name comes before the extension, and the only model has none") {
    CHECK(path_of_model("run.jsonl", "") == "run.jsonl");
    CHECK(path_of_model("run.jsonl", "group-1") == "run.group-1.jsonl");
    CHECK(path_of_model("logs.d/run", "group-1") == "logs.d/run.group-1");
    CHECK(path_of_model("/a/b.c/run.2.jsonl", "group-10") == "/a/b.c/run.2.group-10.jsonl");
}

TEST_CASE("the first rank of each group writes a log and a report, and nobody an empty one") {
    const scratch_folder folder("model_path");
    const auto kept = train(folder.path());
    CHECK(files_in(folder.path()) == std::set<std::string>{"run.group-0.html", "run.group-0.jsonl",
                                                           "run.group-1.html",
                                                           "run.group-1.jsonl"});
    const std::vector<std::string> logs{folder.path() / "run.group-0.jsonl",
                                        folder.path() / "run.group-1.jsonl"};
    const std::vector<run_log> runs = read_json_lines(logs);
    for (std::size_t group = 0; group < 2; ++group) {
        const run_log& read = runs[group];
        const run_log& live = kept[2 * group];
        const std::string name = "group-" + std::to_string(group);
        CHECK(read.name == "run." + name);
        CHECK(read.about.model == name);
        CHECK(read.about.rank == static_cast<int>(2 * group));
        CHECK(read.about.world_size == 4);
        CHECK(read.workers() == 2);
        CHECK(read.fits == 2);
        CHECK(read.steps == 26);
        CHECK(read.points == live.points);
        CHECK(read.taught.record == live.taught.record);
        CHECK(read.taught.points() == live.taught.points());
        REQUIRE(read.taught.record.teachers().size() == 1);
        CHECK(read.taught.record.teachers()[0].group == static_cast<int>(1 - group));
        CHECK(read.total.listening == doctest::Approx(live.total.listening));
        CHECK(read.total.listening > 0.0);
        CHECK(read.total.listening < read.total.compute);
        CHECK(text_of(folder.path() / ("run." + name + ".html")).find("which trains " + name) !=
              std::string::npos);
    }
    CHECK(runs[0].points[0].loss() != runs[1].points[0].loss());
}

TEST_CASE("of every rank there may be a log, which is joined with those of its group alone") {
    const scratch_folder folder("model_path_ranks");
    train(folder.path(), {.every_rank = true});
    CHECK(files_in(folder.path()) == std::set<std::string>{"run.group-0.html", "run.group-0.jsonl",
                                                           "run.group-0.jsonl.rank1",
                                                           "run.group-1.html", "run.group-1.jsonl",
                                                           "run.group-1.jsonl.rank3"});
    const run_log run = read_json_lines_of_ranks(folder.path() / "run.group-1.jsonl");
    REQUIRE(run.ranks.size() == 2);
    CHECK(run.ranks[0].rank == 2);
    CHECK(run.ranks[1].rank == 3);
    CHECK(run.workers() == 2);
    CHECK(run.total.examples_of_all == 2.0 * 26.0 * 10.0);
}

TEST_CASE("what was in a file of the name itself stays, though nobody writes there") {
    const scratch_folder folder("model_path_other");
    std::ofstream(folder.path() / "run.jsonl") << "";  // empty, and somebody's
    train(folder.path(), {}, 2);
    CHECK(files_in(folder.path()).contains("run.jsonl"));
    CHECK(files_in(folder.path()).contains("run.group-0.jsonl"));
}

TEST_CASE("path_of_model, path_of_rank: a device -> itself for all") {
    CHECK(path_of_model("run.jsonl", "group-1") == "run.group-1.jsonl");
    CHECK(path_of_rank("run.jsonl", 1) == "run.jsonl.rank1");
    CHECK(path_of_rank("run.jsonl", 0) == "run.jsonl");
    CHECK(path_of_model("/dev/null", "group-1") == "/dev/null");
    CHECK(path_of_rank("/dev/null", 1) == "/dev/null");
    const scratch_folder folder("model_path_device");
    std::filesystem::create_symlink("/dev/null", folder.path() / "link");
    CHECK(path_of_rank(folder.path() / "link", 1) == folder.path() / "link");
}
