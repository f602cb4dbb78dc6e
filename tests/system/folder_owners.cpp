// Jobs that want one folder for their checkpoints: one has it, the others are refused before they
// train, and no checkpoint is lost without a word.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "support/checkpointed.hpp"
#include "support/endings.hpp"
#include "support/folders.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace std::chrono_literals;
using testing::in_run, testing::memory_disk, testing::memory_files, testing::numbered;

namespace {

const all_reduce by_sgd{sgd{.learning_rate = 0.0625}};
const std::string owner_file(detail::checkpoint::owner_name);

/// Trains 2 ranks on a folder, resuming what is there; the parameters, or why it was refused.
struct ending {
    std::string refusal{};
    std::vector<float> parameters{};
    resume_report resumed{};
    std::vector<std::string> failures{};
};
template <class Files = detail::checkpoint::posix_files>
ending train(const std::filesystem::path& folder, std::int64_t length, std::uint64_t seed = 7,
             const std::function<void(const step_report&)>& at = nullptr, Files files = {},
             typename checkpoints::options options = {.every_steps = 2, .on_failure = nullptr},
             bool resumes = true) {
    ending end;
    std::array<std::string, 2> refusals;
    run_in_process(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_sgd, transport, {.batch_size = 4, .seed = seed}};
        const auto rank = static_cast<std::size_t>(transport.rank());
        try {
            resume_report found;
            if (resumes) found = trainer.try_resume(folder, {.on_damage = nullptr}, files);
            struct listener {
                ending* end;
                const std::function<void(const step_report&)>& at;
                void on_step(const step_report& report) const {
                    if (end && at) at(report);
                }
                void on_checkpoint(const checkpoint_report& report) const {
                    if (end && !report.failure.empty()) end->failures.push_back(report.failure);
                }
            } listener{rank == 0 ? &end : nullptr, at};
            trainer.fit(numbered{200}, steps{length}, checkpoints{folder, options, files},
                        listener);
            if (rank == 0) {
                end.resumed = found;
                end.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            }
        } catch (const invalid_option& e) {
            refusals[rank] = e.what();
        } catch (const mismatch& e) {
            refusals[rank] = e.what();
        }
    });
    CHECK(refusals[0] == refusals[1]);
    end.refusal = refusals[0];
    return end;
}

/// Another job, which trains in a process of its own until it may go on.
class other_job {
public:
    other_job(const std::filesystem::path& folder, std::int64_t waits_after) {
        REQUIRE(::pipe(ends_.data()) == 0);
        others_.start([&](auto&& say) {
            ::close(ends_[1]);
            const auto hold = [&](const step_report& step) {
                char go = 0;
                if (step.step != waits_after) return;
                say(1);
                if (::read(ends_[0], &go, 1) != 1) ::_exit(2);
            };
            const ending end = train(folder, 6, 1, hold);
            say(end.refusal.empty() && end.failures.empty() ? 1 : 0);
        });
        int said = 0;
        REQUIRE(others_.hear(0, said));
    }
    ~other_job() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    other_job(const other_job&) = delete;
    other_job& operator=(const other_job&) = delete;

    /// Whether it ended well.
    bool goes_on() {
        int said = 0;
        return ::write(ends_[1], "!", 1) == 1 && others_.hear(0, said) && said == 1 &&
               others_.wait(0) == 0;
    }
    void is_killed() {
        others_.signal(0, SIGKILL);
        CHECK(WIFSIGNALED(others_.wait(0)));
    }

private:
    std::array<int, 2> ends_{};
    testing::processes others_;
};

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::vector<std::string> names_on(const memory_files& files) {
    std::vector<std::string> names;
    for (const auto& entry : files.disk().names) names.push_back(entry.first);
    return names;
}

/// The claim of a job on a host that is not this one.
detail::checkpoint::claimant on_another_host() {
    return {"other", {"far", "another boot", 1, 5, 6}, "its claim"};
}

/// Another host's claim, on a disk in memory.
struct elsewhere {
    explicit elsewhere(const memory_files& files)
        : owner(files, "run", on_another_host(), [](const auto&) {
              return sotto::detail::process_state::unknown;  // those of this host are far from it
          }) {
        std::string ignored;
        REQUIRE(owner.attempt(ignored) == detail::checkpoint::ownership::held);
    }
    detail::checkpoint::folder_owner owner;
};

}  // namespace

TEST_CASE("two jobs, one empty folder: the second -> refused by name, the first is unharmed") {
    const testing::scratch_folder scratch("two_jobs");
    const auto folder = scratch.path() / "run";
    other_job first(folder, 1);
    CHECK(names_in(folder) == std::vector<std::string>{owner_file});
    const ending second = train(folder, 20, 2);
    CHECK(second.refusal.starts_with("checkpoints: the folder '" + folder.string() +
                                     "' belongs to job 'without a launcher, "));
    CHECK(second.refusal.ends_with(
        "), which runs on this host; give each job a folder of its own, or end that one before "
        "this one begins"));
    CHECK(names_in(folder) == std::vector<std::string>{owner_file});
    CHECK(first.goes_on());
    CHECK(names_in(folder) == std::vector<std::string>{detail::checkpoint::file_name(4),
                                                       detail::checkpoint::file_name(6)});
    // The folder is free then, but what is in it is another run's.
    CHECK(train(folder, 20, 2).refusal.find("it was written with 'trainer.seed = 1'") !=
          std::string::npos);
    const ending anew = train(folder, 20, 2, nullptr, {}, {.on_failure = nullptr}, false);
    CHECK(anew.refusal == "checkpoints: '" + folder.string() +
                              "' holds checkpoint-000000000006.safetensors of another run, and "
                              "this one is at step 0: resume from it, or give a folder of its own");
    CHECK(names_in(folder).size() == 2);
}

TEST_CASE("owner of a folder: killed -> the next job has it at once, and goes on") {
    const testing::scratch_folder scratch("killed_owner");
    const auto folder = scratch.path() / "run";
    other_job first(folder, 5);
    first.is_killed();
    CHECK(names_in(folder) == std::vector<std::string>{detail::checkpoint::file_name(2),
                                                       detail::checkpoint::file_name(4),
                                                       owner_file});
    const ending next = train(folder, 6, 1);
    CHECK(next.refusal.empty());
    CHECK(next.resumed.step == 4);
    CHECK(next.failures.empty());
    CHECK(names_in(folder) == std::vector<std::string>{detail::checkpoint::file_name(4),
                                                       detail::checkpoint::file_name(6)});
    CHECK(next.parameters == train(scratch.path() / "whole", 6, 1).parameters);
}

TEST_CASE("owner on another host: it is silent -> fit begins once a minute has passed") {
    const memory_files files;
    const elsewhere other(files);
    const time_point begun = files.disk().steady;
    const ending end = train("/run", 3, 7, nullptr, files);
    CHECK(end.refusal.empty());
    CHECK(end.failures.empty());
    CHECK(files.disk().steady - begun >= 60s);
    CHECK(files.disk().steady - begun <= 62s);
    CHECK(end.parameters == train("/run", 3, 7, nullptr, memory_files()).parameters);
}

TEST_CASE("owner on another host: it renews its claim -> fit is refused on all ranks") {
    const memory_files files;
    const elsewhere other(files);
    files.disk().on_pause = [&, pauses = 0]() mutable {
        if (++pauses % 10 == 0) files.disk().call_tasks();
    };
    const ending end = train("/run", 3, 7, nullptr, files);
    CHECK(end.refusal.find("' belongs to job 'other' (process 5 on host 'far'), which is alive") !=
          std::string::npos);
    CHECK(names_on(files) == std::vector<std::string>{owner_file});
}

TEST_CASE("same job after a restart on another host -> it goes on at once") {
    const memory_files files;
    const elsewhere other(files);
    const time_point begun = files.disk().steady;
    const ending end = train("/run", 3, 7, nullptr, files,
                             {.every_steps = 2, .on_failure = nullptr, .job = "other"});
    CHECK(end.refusal.empty());
    CHECK(files.disk().steady == begun);
}

TEST_CASE("owner is taken for dead while it trains -> it writes nothing more, and says so") {
    const memory_files files;
    const auto whole = train("/whole", 9, 7, nullptr, memory_files());
    std::optional<elsewhere> other;
    const auto at = [&](const step_report& step) {
        if (step.step != 5) return;
        files.disk().pass(60s);  // it was halted
        other.emplace(files);
        files.disk().enter(detail::checkpoint::file_name(1), std::make_shared<memory_disk::file>());
    };
    const ending end = train("/run", 9, 7, at, files);
    const std::string lost =
        "': the folder '/run' was taken over by job 'other' (process 5 on host 'far')";
    REQUIRE(end.failures.size() == 3);  // at steps 6, 8 and 9
    for (const std::string& failure : end.failures) {
        CHECK(failure.starts_with("cannot write '/run/checkpoint-00000000000"));
        CHECK(failure.find(lost) != failure.npos);
    }
    CHECK(end.parameters == whole.parameters);
    CHECK(names_on(files) == std::vector<std::string>{
                                 detail::checkpoint::file_name(1), detail::checkpoint::file_name(2),
                                 detail::checkpoint::file_name(4), owner_file});
}

TEST_CASE("a checkpoint of another run appears in the folder -> nothing more is written there") {
    const memory_files files;  // as without locks, on a network file system
    const auto at = [&](const step_report& step) {
        if (step.step == 3)
            files.disk().enter(detail::checkpoint::file_name(1),
                               std::make_shared<memory_disk::file>());
    };
    const ending end = train("/run", 6, 7, at, files);
    REQUIRE(end.failures.size() == 2);
    CHECK(end.failures[0].find("the folder '/run' holds checkpoint-000000000001.safetensors, which "
                               "another run wrote meanwhile") != std::string::npos);
    CHECK(names_on(files) == std::vector<std::string>{detail::checkpoint::file_name(1),
                                                      detail::checkpoint::file_name(2)});
}

TEST_CASE("resumed, and meanwhile another job went on in the folder -> fit is refused") {
    const memory_files files;
    CHECK(train("/run", 4, 7, nullptr, files).refusal.empty());
    std::array<std::string, 2> refusals;
    run_in_process(2, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_sgd, transport, {.batch_size = 4, .seed = 7}};
        CHECK(trainer.resume("/run", {}, files).step == 4);
        transport.agree(true);
        if (transport.rank() == 0) CHECK(train("/run", 8, 7, nullptr, files).refusal.empty());
        transport.agree(true);
        try {
            trainer.fit(numbered{200}, steps{6}, checkpoints{"/run", {.every_steps = 1}, files});
        } catch (const invalid_option& e) {
            refusals[static_cast<std::size_t>(transport.rank())] = e.what();
        }
    });
    CHECK(refusals[0] ==
          "checkpoints: '/run' holds checkpoint-000000000008.safetensors of another run, and this "
          "one is at step 4: resume from it, or give a folder of its own");
    CHECK(refusals[1] == refusals[0]);
    CHECK(names_on(files) == std::vector<std::string>{detail::checkpoint::file_name(6),
                                                      detail::checkpoint::file_name(8)});
}

TEST_CASE("two trainers of one process: while one trains -> refused; in between -> handed over") {
    const memory_files files;
    run_in_process(1, [&](in_process& transport) {
        testing::remembering_model model;
        trainer first{model, by_sgd, transport, {.batch_size = 4, .seed = 7}};
        checkpoints saving{"/run", {.every_steps = 2, .on_failure = nullptr}, files};
        first.fit(numbered{200}, steps{3}, saving, [&](const step_report& step) {
            if (step.step != 1) return;
            const ending inner = train("/run", 6, 7, nullptr, files);
            CHECK(inner.refusal.find("which is this one, and trains with it in another trainer") !=
                  inner.refusal.npos);
        });
        CHECK(std::ranges::count(names_on(files), owner_file) == 1);  // it keeps the folder
        const ending second = train("/run", 6, 7, nullptr, files);
        CHECK(second.refusal.empty());
        CHECK(second.failures.empty());
        CHECK(second.resumed.step == 3);
        CHECK_THROWS_WITH_AS(first.fit(numbered{200}, steps{3}, saving),
                             "checkpoints: '/run' holds checkpoint-000000000006.safetensors of "
                             "another run, and this one is at step 3: resume from it, or give a "
                             "folder of its own",
                             invalid_option);
    });
    CHECK(std::ranges::count(names_on(files), owner_file) == 0);
}

TEST_CASE("calls of fit in a row, and one that throws -> the folder is kept, and free at the end") {
    const memory_files files;
    run_in_process(1, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model, by_sgd, transport, {.batch_size = 4, .seed = 7}};
        checkpoints saving{"/run", {.every_steps = 2}, files};
        trainer.fit(numbered{200}, steps{3}, saving);
        CHECK(std::ranges::count(names_on(files), owner_file) == 1);
        trainer.fit(numbered{200}, steps{3}, saving);
        CHECK_THROWS_AS(trainer.fit(numbered{200}, steps{3}, saving,
                                    [](const step_report&) { throw testing::interrupted(); }),
                        testing::interrupted);
        CHECK(std::ranges::count(names_on(files), owner_file) == 1);
        trainer.fit(numbered{200}, steps{3}, saving);
    });
    CHECK(std::ranges::count(names_on(files), owner_file) == 0);
    CHECK(files.disk().tasks.empty());
}

TEST_CASE("server: a fit that throws -> another trainer of the process has its folder") {
    const testing::scratch_folder scratch("served_throw");
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model;
        parameter_server strategy{sgd{.learning_rate = 0.5}};
        strategy.servers = {.checkpoints = scratch.path(), .every = 2};
        trainer first{model, strategy, transport, {.batch_size = 4}};
        first.fit(numbered{200}, steps{3});
        CHECK_THROWS_AS(first.fit(numbered{200}, steps{3},
                                  [](const step_report&) { throw testing::interrupted(); }),
                        testing::interrupted);
        const auto thrown = testing::thrown_by(1, [&](in_process& alone) {
            testing::number_model other;
            trainer second{other, strategy, alone, {.batch_size = 4}};
            second.fit(numbered{200}, steps{3});
        });
        CHECK(testing::text_of(thrown) == "nothing");
    });
    CHECK(std::ranges::count(names_in(scratch.path() / "server0"), owner_file) == 0);
}

TEST_CASE("a disk that keeps no claim at first -> training goes on, and claims when it can") {
    const memory_files files;
    files.disk().power_fails_after = 1;  // the folder is made
    const auto at = [&](const step_report& step) {
        if (step.step == 3) files.disk().power_fails_after = memory_disk::never;
    };
    const ending end = train("/run", 6, 7, at, files);
    CHECK(end.failures.size() == 1);
    CHECK(names_on(files) == std::vector<std::string>{detail::checkpoint::file_name(4),
                                                      detail::checkpoint::file_name(6)});
}

TEST_CASE("servers of two jobs, one folder: the second job -> refused by name") {
    const testing::scratch_folder scratch("two_served_jobs");
    const auto serve = [&](const std::function<void()>& at) {
        std::string refusal;
        const auto thrown = testing::thrown_by(2, [&](in_process& transport) {
            testing::number_model model;
            parameter_server strategy{sgd{.learning_rate = 0.5}};
            strategy.servers = {.checkpoints = scratch.path(), .every = 2};
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            trainer.fit(numbered{200}, steps{4}, [&](const step_report& step) {
                if (transport.rank() == 0 && step.step == 2 && at) at();
            });
        });
        return testing::text_of(thrown);
    };
    std::string second;
    CHECK(serve([&] { second = serve(nullptr); }) == "nothing");
    CHECK(second.find("parameter_server: server0: the folder '" +
                      (scratch.path() / "server0").string() + "' belongs to job '") != second.npos);
    CHECK(names_in(scratch.path() / "server0").size() == 2);
    CHECK(serve(nullptr) == "nothing");
}
