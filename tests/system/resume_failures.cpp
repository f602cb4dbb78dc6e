// What may go wrong when a run is resumed: a checkpoint that is damaged or unreadable is named and
// the one before it is used, and a state that was filled half-way is not trained on.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/core/errors.hpp"
#include "support/checkpointed.hpp"
#include "support/endings.hpp"
#include "support/folders.hpp"
#include "support/sensible.hpp"

using namespace sotto;
using testing::memory_disk, testing::memory_files, testing::numbered, testing::run_with_checkpoints;

namespace {

const all_reduce by_dgc{sgd{.learning_rate = 0.0625}, testing::sensible<dgc>::options()};

std::vector<std::string> names_on(const memory_files& files) {
    std::vector<std::string> names;
    for (const auto& entry : files.disk().names) names.push_back(entry.first);
    return names;
}

/// One bit of a checkpoint is flipped.
void damage(memory_files& files, const std::string& name) {
    bytes& file = files.disk().names.at(name)->now;
    file[file.size() / 2] ^= std::byte{1};
}

template <class Trainer>
std::vector<float> held_by(const Trainer& trainer) {
    return {trainer.parameters().begin(), trainer.parameters().end()};
}

}  // namespace

TEST_CASE("resume: descriptors or memory are lacking -> no checkpoint is passed over or removed") {
    memory_files files;
    run_with_checkpoints(3, by_dgc, files, {.length = steps{4}});
    const auto before = names_on(files);
    const auto whole = run_with_checkpoints(3, by_dgc, memory_files{});
    for (const std::int64_t look : {0, 1, 2, 3, 4, 6}) {  // of those that check the newest one
        CAPTURE(look);
        files.disk().looks = 0;
        files.disk().look_fails_at = look;
        files.disk().failure = EMFILE;
        const auto thrown = testing::thrown_by(3, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
            const auto fresh = held_by(trainer);
            std::string why;
            try {
                trainer.try_resume("run", {}, files);
            } catch (const io_failure& e) {
                why = e.what();
            }
            CHECK(why.find("Too many open files") != why.npos);
            CHECK(trainer.step() == 0);
            CHECK(held_by(trainer) == fresh);
        });
        CHECK(testing::text_of(thrown) == "nothing");
        CHECK(names_on(files) == before);
    }
    files.disk().look_fails_at = memory_disk::never;
    const auto resumed = run_with_checkpoints(3, by_dgc, files);
    CHECK(resumed[1].resumed.step == 4);
    CHECK(resumed[1].same_run(whole[1]));
}

TEST_CASE("resume: the newest checkpoint cannot be read -> the one before, named on all ranks") {
    const auto whole = run_with_checkpoints(3, by_dgc, memory_files{});
    for (const int failure : {EIO, EACCES, ENOENT}) {
        CAPTURE(failure);
        memory_files files;
        run_with_checkpoints(3, by_dgc, files, {.length = steps{4}});
        files.disk().looks = 0;
        files.disk().look_fails_at = 1;  // the newest one is opened
        files.disk().failure = failure;
        const auto resumed = run_with_checkpoints(3, by_dgc, files);
        for (std::size_t rank = 0; rank < resumed.size(); ++rank) {
            CHECK(resumed[rank].resumed.step == 3);
            CHECK(resumed[rank].resumed.refused ==
                  "cannot open '" + testing::in_run("checkpoint-000000000004.safetensors") +
                      "': " + std::generic_category().message(failure) + "\n");
            CHECK(resumed[rank].same_run(whole[rank]));
        }
        CHECK(names_on(files).size() == 2);
    }
}

TEST_CASE("resume: no checkpoint can be read -> io_failure that names each, nothing is changed") {
    const testing::scratch_folder scratch("none_readable");
    const auto folder = scratch.path() / "run";
    std::filesystem::create_directories(folder / detail::checkpoint::file_name(30));
    REQUIRE(::mkfifo((folder / detail::checkpoint::file_name(20)).c_str(), 0600) == 0);
    const auto resume = [&](bool has_damaged) {
        if (has_damaged) std::ofstream(folder / detail::checkpoint::file_name(10)) << "torn";
        std::vector<std::string> texts(2);
        run_in_process(2, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
            const auto fresh = held_by(trainer);
            try {
                trainer.try_resume(folder);
            } catch (const io_failure& e) {
                texts[static_cast<std::size_t>(transport.rank())] = e.what();
            }
            CHECK(held_by(trainer) == fresh);
        });
        CHECK(texts[0] == texts[1]);
        return texts[0];
    };
    const auto path = [&](std::int64_t step) {
        return "'" + (folder / detail::checkpoint::file_name(step)).string() + "'";
    };
    const std::string unreadable = "resume: no checkpoint in '" + folder.string() +
                                   "' can be read; cannot open " + path(30) +
                                   ": it is a folder; expected a regular file; cannot open " +
                                   path(20) + ": it is a FIFO; expected a regular file";
    CHECK(resume(false) == unreadable);
    CHECK(resume(true).starts_with(unreadable + "; " + path(10) + " is damaged: "));
}

TEST_CASE("damage is told on rank 0, with the checkpoint that is used instead") {
    memory_files files;
    run_with_checkpoints(3, by_dgc, files, {.length = steps{4}});
    damage(files, "checkpoint-000000000004.safetensors");
    static std::vector<resume_report> told;
    told.clear();
    run_in_process(3, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
        const auto tell = [](const resume_report& report) { told.push_back(report); };
        const resume_report report = trainer.resume("run", {.on_damage = tell}, files);
        CHECK(report.step == 3);
    });
    REQUIRE(told.size() == 1);
    CHECK(told[0].file == testing::in_run("checkpoint-000000000003.safetensors"));
    CHECK(told[0].refused.find("'" + testing::in_run("checkpoint-000000000004.safetensors") +
                               "' is damaged: section '") == 0);
}

TEST_CASE("a checkpoint that was found damaged pushes no whole one out") {
    for (const std::int64_t period : {1, 3, 5}) {  // the next one: in its place, before it, later
        CAPTURE(period);
        memory_files files;
        run_with_checkpoints(
            2, by_dgc, files,
            {.length = steps{4}, .options = {.every_steps = 1, .keep = 3, .on_failure = nullptr}});
        damage(files, "checkpoint-000000000004.safetensors");
        damage(files, "checkpoint-000000000003.safetensors");
        const auto resumed = run_with_checkpoints(
            2, by_dgc, files,
            {.after_step = period == 1   ? 5
                           : period == 3 ? 4
                                         : 6,
             .options = {.every_steps = period, .keep = 2, .on_failure = nullptr}});
        CHECK(resumed[0].resumed.step == 2);
        const auto left = names_on(files);
        REQUIRE(left.size() == 2);
        CHECK(left[0] == detail::checkpoint::file_name(period == 1 ? 3 : 2));
        CHECK(left[1] == detail::checkpoint::file_name(period == 1 ? 4 : period));
    }
}

TEST_CASE("a state that was filled half-way is not trained on, until it is filled") {
    const auto whole = run_with_checkpoints(1, by_dgc, memory_files{});
    memory_files files;
    run_with_checkpoints(1, by_dgc, files, {.after_step = 8});
    files.disk().looks = 0;
    run_with_checkpoints(1, by_dgc, files, {.length = steps{0}});
    const std::int64_t looks = files.disk().looks;
    const std::int64_t checking = [&] {
        files.disk().looks = 0;
        std::optional<detail::checkpoint::file_reader> file;
        std::vector<detail::checkpoint::refused_file> refused;
        CHECK(detail::checkpoint::open_newest(files, "run", file, refused));
        return files.disk().looks;
    }();
    std::int64_t torn = 0;
    for (std::int64_t look = 0; look < looks - 1; ++look) {  // the last one is of fit
        CAPTURE(look);
        run_in_process(1, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
            const auto fresh = held_by(trainer);
            files.disk().looks = 0;
            files.disk().look_fails_at = look;
            files.disk().failure = EIO;
            if (look > 0 && look < checking) {
                CHECK(trainer.resume("run", {.on_damage = nullptr}, files).step == 6);
                return;
            }
            CHECK_THROWS_AS(trainer.resume("run", {}, files), io_failure);
            files.disk().look_fails_at = memory_disk::never;
            std::string why;
            try {
                trainer.fit(numbered{70}, steps{0});
            } catch (const io_failure& e) {
                why = e.what();
            }
            if (why.empty()) {
                CHECK(held_by(trainer) == fresh);
            } else {
                ++torn;
                CHECK(why.find("trainer: resuming ended after it had begun to change parameters "
                               "and state, which are now partly the checkpoint's: cannot read '" +
                               testing::in_run("checkpoint-000000000007.safetensors") + "': ") ==
                      0);
            }
            CHECK(trainer.resume("run", {}, files).step == 7);
            // Where the first call of fit was not refused, this is the second one.
            trainer.fit(numbered{70}, steps{why.empty() ? 12 - 7 : 12});
            CHECK(held_by(trainer) == whole[0].parameters);
        });
    }
    CHECK(torn > 3);
}

TEST_CASE("ranks whose state was filled half-way all end") {
    memory_files files;
    run_with_checkpoints(3, by_dgc, files, {.length = steps{4}});
    std::atomic<int> finished = 0;
    const auto program = [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
        trainer.resume("run", {}, files);
        trainer.fit(numbered{70}, steps{1});
        ++finished;
    };
    files.disk().looks = 0;
    run_in_process(3, program);
    CHECK(finished == 3);
    const std::int64_t looks = files.disk().looks;
    files.disk().failure = EIO;
    for (const std::int64_t before_the_end : {1, 2, 4, 8}) {
        files.disk().looks = 0;
        files.disk().look_fails_at = looks - before_the_end;
        const std::string why = testing::text_of(testing::thrown_by(3, program));
        CHECK(why == "cannot read '" + testing::in_run("checkpoint-000000000004.safetensors") +
                         "': Input/output error");
    }
    CHECK(finished == 3);
}

TEST_CASE("a folder is the same by whatever path, and another run's is refused at any step") {
    const testing::scratch_folder scratch("paths");
    const auto folder = scratch.path() / "run";
    const auto train = [&](const std::filesystem::path& from, const std::filesystem::path& to,
                           std::int64_t count) {
        std::string why;
        run_in_process(2, [&](in_process& transport) {
            testing::remembering_model model;
            trainer trainer{model, by_dgc, transport, {.batch_size = 4, .seed = 7}};
            if (!from.empty()) trainer.resume(from);
            try {
                trainer.fit(numbered{70}, steps{count}, checkpoints{to});
            } catch (const invalid_option& e) {
                if (transport.rank() == 1) why = e.what();
            }
        });
        return why;
    };
    CHECK(train("", folder, 3) == "");
    CHECK(train(folder / "", scratch.path() / "." / "run", 5) == "");
    CHECK(train(std::filesystem::relative(folder), folder / "." / "", 7) == "");
    CHECK(train(folder / ".." / "run", folder, 9) == "");
    const std::string refusal =
        " of another run, and this one is at step 0: resume from it, or "
        "give a folder of its own";
    const std::string why = train("", folder, 30);  // it would get beyond that one's steps
    CHECK(why == "checkpoints: '" + folder.string() +
                     "' holds checkpoint-000000000009.safetensors" + refusal);
    // Further on than what is there, but not from there.
    CHECK(train("", scratch.path() / "other", 1) == "");
    CHECK(train(folder, scratch.path() / "other", 12)
              .find("another run, and this one is at step "
                    "9") != std::string::npos);
}
