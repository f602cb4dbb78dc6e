// What the disk does wrong is told and survived: training ends where it would have ended without
// checkpoints, and the old ones are still there.

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/mount.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/visit.hpp"
#include "support/checkpointed.hpp"
#include "support/endings.hpp"
#include "support/folders.hpp"
#include "support/sensible.hpp"

using namespace sotto;
using testing::checkpointed, testing::interruption, testing::memory_disk, testing::memory_files,
    testing::run_with_checkpoints;

namespace {

const all_reduce by_dgc{sgd{.learning_rate = 0.0625}, testing::sensible<dgc>::options()};

std::vector<std::int64_t> steps_on(const memory_files& files) {
    std::vector<std::int64_t> steps;
    for (const auto& entry : files.disk().names)
        steps.push_back(detail::checkpoint::step_of(entry.first).value_or(-1));
    return steps;
}

/// A synchronous strategy whose ranks are not alike, by a mistake.
struct drifting {
    static constexpr bool synchronous = true;
    bool of_parameters = true;

    struct state {
        int rank, size;
        bool of_parameters;
        std::int64_t count = 0;
        detail::data::share share() const { return {rank, size}; }
        detail::epoch_agreement begin_epoch(const detail::epoch_plan& plan) const {
            return {(plan.examples + plan.batch_size - 1) / plan.batch_size, plan.stop != 0};
        }
        template <class Model>
        round_report round(detail::round_input<Model>& job, std::span<float> parameters) {
            (of_parameters ? parameters[0] : drift[0]) += static_cast<float>(rank);
            return {.examples = job.examples};
        }
        std::vector<float> drift = std::vector<float>(3);
        void visit(auto&& field) { field("drift", std::span<float>(drift)); }
    };
    template <class Transport>
    state bind(const layout&, Transport& through) const {
        return {through.rank(), through.size(), of_parameters};
    }
};

}  // namespace

TEST_CASE(
    "whichever call of a checkpoint fails, training ends as without one, and all ranks are told") {
    const auto whole = run_with_checkpoints(3, by_dgc, memory_files{});
    memory_files counted;
    const interruption how{.options = {.every_steps = 4, .on_failure = nullptr}};
    run_with_checkpoints(3, by_dgc, counted, how);
    const std::int64_t calls = counted.disk().calls;
    REQUIRE(calls > 30);
    std::int64_t failed = 0;
    for (std::int64_t call = 1; call < calls; call += 1) {  // call 0 makes the folder
        CAPTURE(call);
        memory_files files;
        files.disk().fails_at = call;
        files.disk().failure = call % 2 == 0 ? ENOSPC : EIO;
        const auto ranks = run_with_checkpoints(3, by_dgc, files, how);
        for (const checkpointed& rank : ranks) {
            CHECK(rank.same_state(whole[static_cast<std::size_t>(&rank - ranks.data())]));
            CHECK(rank.report.checkpoints + rank.report.checkpoints_failed == 3);
            CHECK(rank.report.checkpoints_failed == ranks[0].report.checkpoints_failed);
            REQUIRE(rank.told.size() == 3);
            CHECK(rank.report.incomplete.empty() == rank.told.back().failure.empty());
            for (std::size_t i = 0; i < 3; ++i) {
                CHECK(rank.told[i].step == 4 * static_cast<std::int64_t>(i + 1));
                CHECK(rank.told[i].failure == ranks[0].told[i].failure);
                CHECK(rank.told[i].bytes == ranks[0].told[i].bytes);
                CHECK((rank.told[i].bytes == 0) == !rank.told[i].failure.empty());
                if (!rank.told[i].failure.empty())
                    CHECK(rank.report.checkpoint_failure == rank.told[i].failure);
            }
        }
        failed += ranks[0].report.checkpoints_failed;
        if (ranks[0].report.checkpoints_failed == 0) continue;
        const std::string& why = ranks[0].report.checkpoint_failure;
        CHECK(why.find(std::generic_category().message(files.disk().failure)) != why.npos);
        for (const std::int64_t step : steps_on(files)) CHECK(step > 0);  // nothing unfinished
        // Whatever is there can be resumed from.
        files.disk().fails_at = memory_disk::never;
        const auto again = run_with_checkpoints(3, by_dgc, files, how);
        CHECK(again[1].resumed.found == !steps_on(files).empty());
        CHECK(again[1].same_state(whole[1]));
    }
    CHECK(failed > 20);
}

TEST_CASE("a disk that is full for good costs the checkpoints and nothing else") {
    const auto whole = run_with_checkpoints(2, by_dgc, memory_files{});
    memory_files files;
    files.disk().power_fails_after = 1;  // the folder is made
    static std::atomic<int> complaints = 0;
    interruption how;
    how.options = {.every_steps = 3, .on_failure = [](const checkpoint_report& report) {
                       ++complaints;
                       CHECK(report.failure.find("cannot make the folder") == 0);
                   }};
    const auto ranks = run_with_checkpoints(2, by_dgc, files, how);
    CHECK(ranks[0].same_state(whole[0]));
    CHECK(ranks[1].same_state(whole[1]));
    CHECK(ranks[1].report.checkpoints == 0);
    CHECK(ranks[1].report.checkpoints_failed == 4);
    CHECK(complaints == 4);  // by rank 0 alone
    for (const auto& rank : ranks) {
        REQUIRE(rank.report.incomplete.size() == 1);  // on every rank: it is all ranks' checkpoint
        CHECK(rank.report.incomplete[0].starts_with("the checkpoint '"));
        CHECK(rank.report.incomplete[0].ends_with(rank.report.checkpoint_failure));
    }
    for (const auto& rank : whole) CHECK(rank.report.incomplete.empty());
}

TEST_CASE("a folder that cannot be made is told before training begins, on all ranks") {
    const auto thrown = testing::thrown_by(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport};
        CHECK_THROWS_WITH_AS(
            trainer.fit(testing::numbered{30}, epochs{1}, checkpoints{"/proc/no/such/folder"}),
            "checkpoints: cannot use the folder '/proc/no/such/folder': No such file or directory",
            io_failure);
        CHECK(trainer.step() == 0);
    });
    CHECK(testing::text_of(thrown) == "nothing");
}

TEST_CASE("checkpoint folder: a dangling link -> io_failure that says so, on all ranks") {
    const testing::scratch_folder scratch("dangling_folder");
    const auto folder = scratch.path() / "run";
    std::filesystem::create_symlink("nowhere", folder);
    const auto thrown = testing::thrown_by(2, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{}, transport};
        CHECK_THROWS_WITH_AS(trainer.fit(testing::numbered{30}, epochs{1}, checkpoints{folder}),
                             ("checkpoints: cannot use the folder '" + folder.string() +
                              "': it is a symbolic link to a path that does not exist")
                                 .c_str(),
                             io_failure);
    });
    CHECK(testing::text_of(thrown) == "nothing");
}

TEST_CASE("what no checkpoint can hold is told before training begins, on all ranks") {
    const auto refused = [](layout tensors) {
        memory_files files;
        std::string text;
        const auto thrown = testing::thrown_by(3, [&](in_process& transport) {
            testing::number_model model(tensors);
            std::int64_t steps_done = 0;
            try {
                trainer trainer{model, all_reduce{}, transport};
                trainer.fit(testing::numbered{30}, steps{1}, checkpoints{"run", {}, files},
                            [&](const step_report&) { ++steps_done; });
            } catch (const invalid_option& e) {
                if (transport.rank() == 2) text = e.what();
            }
            CHECK(steps_done == 0);
        });
        CHECK(testing::text_of(thrown) == "nothing");
        CHECK(files.disk().names.empty());
        return text;
    };
    CHECK(refused(layout().add("deep", std::vector<std::int64_t>(17, 1))) ==
          "checkpoint: there would be 17 extents of tensor 'parameters/deep'; at most 16 are "
          "possible");
    CHECK(refused(layout().add("w", {1}).add("gr\xF6\xDF"
                                             "e",
                                             {1})) ==
          "trainer: the model has a tensor named 'gr\\xf6\\xdfe', which is not UTF-8; files of "
          "models "
          "and checkpoints need names in UTF-8");
}

TEST_CASE("ranks that should hold the same and do not are found when a checkpoint is written") {
    for (const bool of_parameters : {true, false}) {
        memory_files files;
        const auto thrown = testing::thrown_by(3, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model, drifting{of_parameters}, transport};
            CHECK_THROWS_WITH_AS(
                trainer.fit(testing::numbered{30}, steps{1}, checkpoints{"run", {}, files}),
                ("checkpoint of step 1: rank 1 holds other " +
                 std::string(of_parameters ? "parameters" : "optimizer state") +
                 " than rank 0, and should hold the same")
                    .c_str(),
                mismatch);
        });
        CHECK(testing::text_of(thrown) == "nothing");
        CHECK(files.disk().names.empty());
    }
}

TEST_CASE("options of checkpoints that cannot work are refused by name and value") {
    const auto refused = [](checkpoints::options options) {
        try {
            checkpoints saving{"run", std::move(options)};
        } catch (const invalid_option& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    CHECK(refused({.every_steps = 0}) == "checkpoints: every_steps is 0; it must be at least 1");
    CHECK(refused({.every_epochs = -1}) ==
          "checkpoints: every_epochs is -1; it must be at least 1");
    CHECK(refused({.keep = 0}) == "checkpoints: keep is 0; it must be at least 1");
    CHECK(refused({.every_steps = 5, .every_epochs = 1}).empty());
    CHECK_THROWS_AS(checkpoints{""}, invalid_option);
}

TEST_CASE("on a real disk that is full, the old checkpoint stays and training goes on") {
    const testing::scratch_folder scratch("full_disk");
    // A disk that nobody else sees. Whoever may have one must get it: the test is not to pass
    // without having been run.
    if (::unshare(CLONE_NEWNS) != 0) {
        MESSAGE("skipped: no mounts of one's own here: ", std::generic_category().message(errno));
        return;
    }
    (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE,
                  nullptr);  // a chroot has nothing there
    REQUIRE(::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=8m") == 0);
    struct unmounted {
        const std::filesystem::path& path;
        ~unmounted() { ::umount(path.c_str()); }
    } afterwards{scratch.path()};

    layout large;  // 5 MB of parameters: one checkpoint fits, a second one does not
    large.add("weight", {1250, 1000});
    const auto train = [&](bool saving) {
        std::vector<float> parameters;
        fit_report report;
        run_in_process(2, [&](in_process& transport) {
            testing::number_model model(large);
            trainer trainer{
                model, all_reduce{sgd{.learning_rate = 0.0625}}, transport, {.batch_size = 2}};
            const testing::numbered data{40};
            const fit_report mine =
                saving ? trainer.fit(data, steps{6},
                                     checkpoints{scratch.path() / "run",
                                                 {.every_steps = 2, .on_failure = nullptr}})
                       : trainer.fit(data, steps{6});
            if (transport.rank() != 0) return;
            report = mine;
            parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
        return std::pair(parameters, report);
    };
    const std::vector<float> expected = train(false).first;
    const auto [parameters, report] = train(true);
    CHECK(parameters == expected);
    CHECK(report.steps == 6);
    CHECK(report.checkpoints == 1);
    CHECK(report.checkpoints_failed == 2);
    CHECK(report.checkpoint_failure.find(": No space left on device (a checkpoint takes 50") !=
          std::string::npos);
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path() / "run"))
        left.push_back(entry.path().filename().string());
    CHECK(left == std::vector<std::string>{"checkpoint-000000000002.safetensors"});
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model(large);
        trainer trainer{
            model, all_reduce{sgd{.learning_rate = 0.0625}}, transport, {.batch_size = 2}};
        CHECK(trainer.resume(scratch.path() / "run").step == 2);
        trainer.fit(testing::numbered{40}, steps{6});
        CHECK(std::vector<float>(trainer.parameters().begin(), trainer.parameters().end()) ==
              expected);
    });
}
