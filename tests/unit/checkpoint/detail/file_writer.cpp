#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "support/folders.hpp"
#include "support/memory_disk.hpp"
#include "support/small_checkpoint.hpp"

using namespace sotto;
using testing::memory_disk, testing::memory_files, testing::newest, testing::small_checkpoint;

namespace {

std::vector<std::string> names_on(const memory_files& files) {
    std::vector<std::string> names;
    for (const auto& entry : files.disk().names) names.push_back(entry.first);
    return names;
}

/// A disk with the checkpoints of two steps, safe on it.
memory_files with_two_generations() {
    memory_files files;
    REQUIRE(small_checkpoint(10).write(files) == "");
    REQUIRE(small_checkpoint(20).write(files) == "");
    files.disk().sync_folder();
    files.disk().calls = 0;
    return files;
}

const std::vector<std::string> two_generations{"checkpoint-000000000010.safetensors",
                                               "checkpoint-000000000020.safetensors"};

/// The calls that a third one makes.
std::int64_t calls_of_a_checkpoint(bool short_writes = false) {
    memory_files files = with_two_generations();
    files.disk().short_writes = short_writes;
    REQUIRE(small_checkpoint(30).write(files) == "");
    return files.disk().calls;
}

}  // namespace

TEST_CASE("checkpoints are named by their step, and names of other things are not taken for one") {
    CHECK(detail::checkpoint::file_name(1200) == "checkpoint-000000001200.safetensors");
    CHECK(detail::checkpoint::file_name(1234567890123456) ==
          "checkpoint-1234567890123456.safetensors");
    for (const std::int64_t step : {0l, 1l, 999999999999l, 1000000000000l})
        CHECK(detail::checkpoint::step_of(detail::checkpoint::file_name(step)) == step);
    for (const char* name :
         {"", "checkpoint-.safetensors", "checkpoint-12.safetensors", "checkpoint-000000000012",
          "checkpoint-00000000001x.safetensors", "checkpoint--00000000012.safetensors",
          "checkpoint-0000000000012.safetensors", "checkpoint-99999999999999999999.safetensors",
          "checkpoint-000000000012.safetensors.unfinished", "model.safetensors"})
        CHECK_FALSE(detail::checkpoint::step_of(name).has_value());
    CHECK(detail::checkpoint::is_unfinished("checkpoint-000000000012.safetensors.unfinished"));
    CHECK_FALSE(detail::checkpoint::is_unfinished("checkpoint-000000000012.safetensors"));
    CHECK_FALSE(detail::checkpoint::is_unfinished("notes.unfinished"));
}

TEST_CASE("the newest generations stay, in whatever number is asked for") {
    for (const std::int64_t keep : {1, 2, 3}) {
        memory_files files;
        for (const std::int64_t step : {10, 20, 30, 40})
            REQUIRE(small_checkpoint(step).write(files, "run", keep) == "");
        const auto names = names_on(files);
        REQUIRE(static_cast<std::int64_t>(names.size()) == keep);
        CHECK(names.back() == "checkpoint-000000000040.safetensors");
        CHECK(newest(files) == 40);
    }
}

TEST_CASE("what is not a checkpoint is left alone; what an interrupted one left is removed") {
    memory_files files = with_two_generations();
    for (const char* name : {"notes.txt", "checkpoint-000000000025.safetensors.unfinished"})
        files.disk().enter(name, std::make_shared<memory_disk::file>());
    REQUIRE(small_checkpoint(30).write(files) == "");
    CHECK(names_on(files) == std::vector<std::string>{"checkpoint-000000000020.safetensors",
                                                      "checkpoint-000000000030.safetensors",
                                                      "notes.txt"});
}

TEST_CASE("a run that went back to an earlier step takes later ones, which were damaged, away") {
    memory_files files = with_two_generations();
    REQUIRE(small_checkpoint(15).write(files) == "");
    CHECK(names_on(files) == std::vector<std::string>{"checkpoint-000000000010.safetensors",
                                                      "checkpoint-000000000015.safetensors"});
}

TEST_CASE("checkpoints that are known to be damaged go first, and push no whole one out") {
    for (const std::int64_t written : {25, 30, 40}) {  // before, in place of and after it
        CAPTURE(written);
        memory_files files = with_two_generations();
        REQUIRE(small_checkpoint(30).write(files, "run", 3) == "");
        files.disk().names.at("checkpoint-000000000030.safetensors")->now.pop_back();
        REQUIRE(small_checkpoint(written).write(
                    files, "run", 2, {{30, "", detail::checkpoint::refusal::damaged}}) == "");
        CHECK(names_on(files) == std::vector<std::string>{"checkpoint-000000000020.safetensors",
                                                          detail::checkpoint::file_name(written)});
        CHECK(newest(files) == written);
    }
}

TEST_CASE("checkpoints that cannot be read: a new one is written -> they stay and do not count") {
    for (const std::int64_t written : {25, 30, 40}) {  // before, in place of and after it
        CAPTURE(written);
        memory_files files = with_two_generations();
        REQUIRE(small_checkpoint(30).write(files, "run", 3) == "");
        REQUIRE(small_checkpoint(written).write(
                    files, "run", 2, {{30, "", detail::checkpoint::refusal::unreadable}}) == "");
        std::vector<std::string> expected{"checkpoint-000000000020.safetensors",
                                          "checkpoint-000000000030.safetensors"};
        if (written != 30)
            expected.insert(expected.end() - (written < 30),
                            detail::checkpoint::file_name(written));
        CHECK(names_on(files) == expected);
    }
}

TEST_CASE("of two that write into one folder at a time, one does, and its file is whole") {
    const auto check = [](auto files, const std::filesystem::path& folder) {
        {
            detail::checkpoint::file_writer first(files, folder, 20, 2);
            REQUIRE(first.ok());
            const std::string path = (folder / "checkpoint-000000000020.safetensors").string();
            CHECK(small_checkpoint(20).write(files, folder) ==
                  "cannot write '" + path +
                      "': another process is writing a checkpoint into this folder");
            std::error_code why;
            CHECK(files.list(folder, why) ==
                  std::vector<std::string>{"checkpoint-000000000020.safetensors.unfinished"});
        }
        CHECK(newest(files, folder) == 0);  // the first one gave up
        CHECK(small_checkpoint(20).write(files, folder) == "");
        CHECK(newest(files, folder) == 20);
    };
    check(memory_files{}, "run");
    const testing::scratch_folder scratch("two_writers");
    check(detail::checkpoint::posix_files{}, scratch.path());
}

TEST_CASE("a folder that cannot be synced, by its file system, is no failure") {
    detail::checkpoint::posix_files files;
    std::error_code why;
    files.sync_folder("/proc/self", why);  // EINVAL
    CHECK_FALSE(why);
    files.sync_folder("no/such/folder", why);
    CHECK(why == std::errc::no_such_file_or_directory);
}

TEST_CASE("make_folder: a dangling link, a file, a FIFO in its place -> said, nothing is made") {
    const testing::scratch_folder scratch("no_folder");
    detail::checkpoint::posix_files files;
    const auto why = [&](const char* path) {
        std::error_code problem;
        files.make_folder(scratch.path() / path, problem);
        return problem ? problem.message() : "";
    };
    std::filesystem::create_symlink(scratch.path() / "nowhere", scratch.path() / "link");
    CHECK(why("link") == "it is a symbolic link to a path that does not exist");
    CHECK(why("link/below") == "it is a symbolic link to a path that does not exist");
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "nowhere"));
    std::ofstream(scratch.path() / "file") << "text";
    CHECK(why("file") == "Not a directory");
    CHECK(why("file/below") == "Not a directory");
    REQUIRE(::mkfifo((scratch.path() / "fifo").c_str(), 0600) == 0);
    CHECK(why("fifo") == "Not a directory");
    CHECK(why("a/b/") == "");
    CHECK(std::filesystem::is_directory(scratch.path() / "a" / "b"));
    std::filesystem::create_symlink("a", scratch.path() / "to_a");
    CHECK(why("to_a/c") == "");
    CHECK(std::filesystem::is_directory(scratch.path() / "a" / "c"));
}

TEST_CASE("the same step may be written again") {
    memory_files files = with_two_generations();
    REQUIRE(small_checkpoint(20).write(files) == "");
    CHECK(names_on(files) == two_generations);
    CHECK(newest(files) == 20);
}

TEST_CASE(
    "whichever call fails, the old checkpoints stay, nothing unfinished does, and it is said") {
    const std::int64_t calls = calls_of_a_checkpoint();
    REQUIRE(calls > 10);
    for (const int failure : {ENOSPC, EIO, EDQUOT, EROFS})
        for (std::int64_t call = 0; call < calls; ++call) {
            CAPTURE(call);
            CAPTURE(failure);
            memory_files files = with_two_generations();
            files.disk().fails_at = call;
            files.disk().failure = failure;
            const std::string problem = small_checkpoint(30).write(files);
            const std::int64_t found = newest(files);
            if (problem.empty()) {  // only an old one could not be removed
                CHECK(call == calls - 1);
                CHECK(found == 30);
                CHECK(names_on(files).size() == 3);
                continue;
            }
            CHECK(problem.find("checkpoint-000000000030.safetensors") != problem.npos);
            CHECK(problem.find(std::generic_category().message(failure)) != problem.npos);
            CHECK((found == 20 || (found == 30 && problem.find("sync the folder") == 7)));
            auto names = names_on(files);
            std::erase(names, "checkpoint-000000000030.safetensors");
            CHECK(names == two_generations);

            files.disk().fails_at = memory_disk::never;  // the next attempt
            CHECK(small_checkpoint(40).write(files) == "");
            CHECK(newest(files) == 40);
            CHECK(names_on(files).size() == 2);
        }
}

TEST_CASE("a disk that takes half of what it is given is given the rest") {
    memory_files files = with_two_generations();
    files.disk().short_writes = true;
    CHECK(small_checkpoint(30).write(files) == "");
    CHECK(newest(files) == 30);
}

TEST_CASE("a disk that takes half and then is full leaves the old checkpoints") {
    const std::int64_t calls = calls_of_a_checkpoint(true);
    for (std::int64_t call = 2; call < calls - 6;
         ++call) {  // writes: see the test above for others
        CAPTURE(call);
        memory_files files = with_two_generations();
        files.disk().short_writes = true;
        files.disk().fails_at = call;
        files.disk().failure = ENOSPC;
        CHECK(small_checkpoint(30).write(files).find("cannot write") == 0);
        CHECK(newest(files) == 20);
        CHECK(names_on(files) == two_generations);
    }
}

TEST_CASE(
    "power lost after any call leaves the old or the new checkpoint, whatever of it was lost") {
    const std::int64_t calls = calls_of_a_checkpoint();
    std::int64_t states = 0;
    for (std::int64_t call = 0; call <= calls; ++call) {
        CAPTURE(call);
        memory_files files = with_two_generations();
        files.disk().power_fails_after = call;
        const bool written = small_checkpoint(30).write(files).empty();
        files.disk().after_power_loss([&](memory_disk& left) {
            memory_files found(std::shared_ptr<memory_disk>(&left, [](memory_disk*) {}));
            const std::int64_t step = newest(found);
            CHECK((step == 30 || (step == 20 && !written)));
            ++states;

            CHECK(small_checkpoint(40).write(found) == "");  // and goes on from there
            CHECK(newest(found) == 40);
            CHECK(names_on(found).size() == 2);
        });
    }
    CHECK(states > calls);
}

TEST_CASE("on a disk that lies about syncing, checkpoints are lost: the test above would see it") {
    const std::int64_t calls = calls_of_a_checkpoint();
    std::int64_t lost = 0;
    for (std::int64_t call = 0; call <= calls; ++call) {
        memory_files files;
        files.disk().syncs = false;
        REQUIRE(small_checkpoint(10).write(files) == "");
        files.disk().power_fails_after = files.disk().calls + call;
        (void)small_checkpoint(20).write(files, "run", 1);
        files.disk().after_power_loss([&](memory_disk& left) {
            memory_files found(std::shared_ptr<memory_disk>(&left, [](memory_disk*) {}));
            lost += newest(found) == 0;
        });
    }
    CHECK(lost > 0);
}
