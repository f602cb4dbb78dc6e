// Processes that are killed, by kill -9, at random steps and while they write checkpoints.
//   SOTTO_KILLS   how many kills a test makes; by default 50 at steps and 200 while writing

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "support/checkpointed.hpp"
#include "support/folders.hpp"
#include "support/small_checkpoint.hpp"

using namespace sotto;
using testing::small_checkpoint;

namespace {

std::int64_t kills_asked_for(std::int64_t otherwise) {
    const char* text = std::getenv("SOTTO_KILLS");
    return text ? std::max<std::int64_t>(std::atoll(text), 1) : otherwise;
}

/// Runs f in a process of its own, and waits for its end; whether it was killed.
template <class F>
bool killed_in_child(F f) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int code = 1;
        try {
            f();
            code = 0;
        } catch (...) {}
        ::_exit(code);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL;
    CHECK(WEXITSTATUS(status) == 0);
    return false;
}

/// The system's files, in a process that is killed at the n-th call: before it, after it, or with
/// half of a write done.
class deadly_files : public detail::checkpoint::posix_files {
public:
    enum class moment { before, half_way, after };

private:
    auto deadly(auto&& call) {
        const bool dies = left_-- == 0;
        if (dies && when_ == moment::before) ::raise(SIGKILL);
        auto result = call();
        if (dies) ::raise(SIGKILL);
        return result;
    }

    std::int64_t left_;
    moment when_;

public:
    deadly_files(std::int64_t at, moment when) : left_(at), when_(when) {}

    int create(const std::filesystem::path& path, std::error_code& why) {
        return deadly([&] { return detail::checkpoint::posix_files::create(path, why); });
    }
    std::int64_t write(int file, byte_view out, std::error_code& why) {
        if (left_ == 0 && when_ == moment::half_way) {
            detail::checkpoint::posix_files::write(file, out.first(out.size() / 2), why);
            ::raise(SIGKILL);
        }
        return deadly([&] { return detail::checkpoint::posix_files::write(file, out, why); });
    }
    void sync(int file, std::error_code& why) {
        deadly([&] { return detail::checkpoint::posix_files::sync(file, why), 0; });
    }
    void close(int file, std::error_code& why) {
        deadly([&] { return detail::checkpoint::posix_files::close(file, why), 0; });
    }
    void rename(const std::filesystem::path& from, const std::filesystem::path& to,
                std::error_code& why) {
        deadly([&] { return detail::checkpoint::posix_files::rename(from, to, why), 0; });
    }
    void remove(const std::filesystem::path& path, std::error_code& why) {
        deadly([&] { return detail::checkpoint::posix_files::remove(path, why), 0; });
    }
    void sync_folder(const std::filesystem::path& path, std::error_code& why) {
        deadly([&] { return detail::checkpoint::posix_files::sync_folder(path, why), 0; });
    }
};

/// Trains 4 ranks by DGC for 40 steps in the folder, resuming what is there. The process is killed
/// after a step, if one is given.
std::vector<float> train(const std::filesystem::path& folder, std::int64_t killed_after = 0) {
    std::vector<float> left;
    run_in_process(4, [&](in_process& transport) {
        testing::remembering_model model;
        trainer trainer{model,
                        all_reduce{sgd{.learning_rate = 0.0625}, dgc{.density = 0.125}},
                        transport,
                        {.batch_size = 4, .seed = 7}};
        trainer.try_resume(folder);
        trainer.fit(testing::numbered{150}, steps{40}, checkpoints{folder, {.every_steps = 3}},
                    [&](const step_report& step) {
                        if (step.step == killed_after && transport.rank() == 2) ::raise(SIGKILL);
                    });
        if (transport.rank() == 0)
            left.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return left;
}

}  // namespace

TEST_CASE("killed at random steps and started again, a run ends with the same bits") {
    const testing::scratch_folder scratch("kills");
    const std::vector<float> whole = train(scratch.path() / "whole");
    random_stream random(20);
    const std::int64_t kills = kills_asked_for(50);
    std::int64_t done = 0;
    for (int run = 0; done < kills; ++run) {
        const auto folder = scratch.path() / std::to_string(run);
        std::int64_t step = 0;
        // Two or three kills a run, each later than the one before.
        while (done < kills && (step += 1 + static_cast<std::int64_t>(random.below(20))) < 40) {
            CAPTURE(step);
            CHECK(killed_in_child([&] { train(folder, step); }));
            ++done;
        }
        CHECK(train(folder) == whole);
    }
    MESSAGE(done, " kills at random steps");
}

TEST_CASE("killed at any call of a checkpoint, a process leaves the old or the new one") {
    using moment = deadly_files::moment;
    const testing::scratch_folder scratch("kills_at_calls");
    detail::checkpoint::posix_files files;
    REQUIRE(small_checkpoint(10).write(files, scratch.path()) == "");
    REQUIRE(small_checkpoint(20).write(files, scratch.path()) == "");
    std::int64_t old = 20, kills = 0;
    for (const moment when : {moment::before, moment::half_way, moment::after})
        for (std::int64_t call = 0;; ++call) {
            CAPTURE(call);
            const bool killed = killed_in_child([&] {
                deadly_files deadly(call, when);
                (void)small_checkpoint(old + 10).write(deadly, scratch.path());
            });
            const std::int64_t found = testing::newest(files, scratch.path());
            CHECK((found == old + 10 || (killed && found == old)));
            old = found;
            if (!killed) break;
            ++kills;
        }
    CHECK(kills > 30);
}

TEST_CASE(
    "killed from outside while it writes checkpoints, a process leaves the old or the new one") {
    const testing::scratch_folder scratch("kills_from_outside");
    random_stream random(200);
    detail::checkpoint::posix_files files;
    std::int64_t written = 10, old_found = 0, new_found = 0, unfinished = 0;
    REQUIRE(small_checkpoint(written).write(files, scratch.path()) == "");
    const std::int64_t kills = kills_asked_for(200);
    for (std::int64_t kill = 0; kill < kills; ++kill) {
        int pipe[2];
        REQUIRE(::pipe(pipe) == 0);
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {  // says before each checkpoint which one it writes now
            for (std::int64_t step = written + 10;; step += 10) {
                if (::write(pipe[1], &step, sizeof step) != sizeof step) ::_exit(1);
                detail::checkpoint::posix_files own;
                if (!small_checkpoint(step).write(own, scratch.path()).empty()) ::_exit(1);
            }
        }
        ::close(pipe[1]);
        std::int64_t step = 0;
        for (std::uint64_t i = random.below(4) + 1; i > 0; --i)
            REQUIRE(::read(pipe[0], &step, sizeof step) == sizeof step);
        // Some way into the writing of that one: no clock, since a machine's load moves it anyway.
        volatile std::uint64_t spins = random.below(2'000'000);
        while (spins > 0) spins = spins - 1;
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        // What it began since is in the pipe.
        while (::read(pipe[0], &step, sizeof step) == sizeof step) continue;
        ::close(pipe[0]);

        for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
            unfinished += detail::checkpoint::is_unfinished(entry.path().filename().string());
        std::vector<std::string> refused;
        const std::int64_t found = testing::newest(files, refused, scratch.path());
        CHECK(refused.empty());
        CHECK((found == step || found == step - 10));
        (found == step ? new_found : old_found) += 1;
        written = found;
    }
    CHECK(old_found + new_found == kills);
    if (kills >= 50) CHECK(unfinished > 0);  // else none of them came while a file was written
    MESSAGE(kills, " kills: the old one ", old_found, " times, the new one ", new_found, "; ",
            unfinished, " in the middle of a file");
}
