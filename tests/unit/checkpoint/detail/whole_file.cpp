#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/whole_file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>

#include "sotto/core/bytes.hpp"
#include "support/devices.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using testing::memory_disk, testing::memory_files;

namespace {

const bytes old_content(64, std::byte{1}), new_content(100, std::byte{2});

/// Why it could not be written; empty: it was.
std::string write(memory_files& files, const bytes& content) {
    detail::checkpoint::whole_file file(files, "folder/file");
    file.write(byte_view(content).first(10));
    file.write(byte_view(content).subspan(10));
    file.finish();
    return file.problem();
}

/// A disk with the old content, safe on it.
memory_files with_the_old() {
    memory_files files;
    REQUIRE(write(files, old_content) == "");
    files.disk().calls = 0;
    return files;
}

std::int64_t calls_of_one() {
    memory_files files = with_the_old();
    REQUIRE(write(files, new_content) == "");
    return files.disk().calls;
}

}  // namespace

TEST_CASE("whole_file: the disk takes nothing and does not fail -> a failure, the old file stays") {
    memory_files files = with_the_old();
    files.disk().takes_nothing = true;
    CHECK(write(files, new_content) == "cannot write 'folder/file.unfinished': Input/output error");
    CHECK(files.disk().names.size() == 1);
    CHECK(files.disk().names.at("file")->now == old_content);
}

TEST_CASE("a file takes the place of the one before, and nothing else stays") {
    for (const bool short_writes : {false, true}) {
        memory_files files = with_the_old();
        files.disk().short_writes = short_writes;
        REQUIRE(write(files, new_content) == "");
        CHECK(files.disk().names.size() == 1);
        CHECK(files.disk().names.at("file")->now == new_content);
    }
}

TEST_CASE("one that is not finished leaves no trace") {
    memory_files files = with_the_old();
    {
        detail::checkpoint::whole_file file(files, "folder/file");
        file.write(new_content);
        CHECK(file.ok());
        CHECK(file.bytes_written() == 100);
        CHECK(files.disk().names.size() == 2);
    }
    CHECK(files.disk().names.size() == 1);
    CHECK(files.disk().names.at("file")->now == old_content);
}

TEST_CASE("whichever call fails, the old file or the new one is there, and it is said") {
    for (std::int64_t call = 0; call < calls_of_one(); ++call) {
        CAPTURE(call);
        memory_files files = with_the_old();
        files.disk().fails_at = call;
        files.disk().failure = ENOSPC;
        const std::string problem = write(files, new_content);
        CHECK(problem.starts_with("cannot "));
        CHECK(problem.find("'folder/file") != problem.npos);
        CHECK(problem.find(std::generic_category().message(ENOSPC)) != problem.npos);
        CHECK(files.disk().names.size() == 1);
        const bool renamed = problem.starts_with("cannot sync the folder");
        CHECK(files.disk().names.at("file")->now == (renamed ? new_content : old_content));
    }
}

TEST_CASE("power lost after any call leaves the old file or the new one, whole") {
    const std::int64_t calls = calls_of_one();
    std::int64_t states = 0;
    for (std::int64_t call = 0; call <= calls; ++call) {
        CAPTURE(call);
        memory_files files = with_the_old();
        files.disk().power_fails_after = call;
        const bool written = write(files, new_content).empty();
        files.disk().after_power_loss([&](memory_disk& left) {
            const bytes& found = left.names.at("file")->now;
            CHECK((found == new_content || (found == old_content && !written)));
            ++states;
        });
    }
    CHECK(states > calls);
}

TEST_CASE("whole_file: the path is a link -> its file is replaced, the link stays") {
    const testing::scratch_folder folder("whole_file");
    detail::checkpoint::posix_files files;
    const auto link = folder.path() / "latest", target = folder.path() / "run7";
    std::filesystem::create_symlink("run7", link);
    for (const bytes& content : {old_content, new_content}) {  // a link to nothing, then to a file
        detail::checkpoint::whole_file file(files, link);
        file.write(content);
        REQUIRE(file.finish());
        CHECK(std::filesystem::is_symlink(link));
        CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(target)));
        CHECK(std::filesystem::file_size(target) == content.size());
    }
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("whole_file: a device, FIFO or folder of that name -> refused and kept") {
    const testing::scratch_folder folder("whole_file");
    detail::checkpoint::posix_files files;
    const auto refused = [&](const std::filesystem::path& path) {
        detail::checkpoint::whole_file file(files, path);
        file.write(new_content);
        CHECK_FALSE(file.finish());
        return file.problem();
    };
    const auto device = folder.path() / "device", fifo = folder.path() / "fifo";
    testing::make_null_device(device);
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    constexpr const char* expected = "; expected a regular file or a new name";
    CHECK(refused(device) == "cannot replace '" + device.string() + "': it is a device" + expected);
    CHECK(refused(fifo) == "cannot replace '" + fifo.string() + "': it is a FIFO" + expected);
    CHECK(refused(folder.path()) ==
          "cannot replace '" + folder.path().string() + "': it is a folder" + expected);
    CHECK(std::filesystem::is_character_file(device));
    CHECK(std::filesystem::is_fifo(fifo));
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

TEST_CASE("whole_file: a FIFO or link has the unfinished name -> not waited for") {
    const testing::scratch_folder folder("whole_file");
    detail::checkpoint::posix_files files;
    const auto path = folder.path() / "file";
    const auto unfinished = std::filesystem::path(path.string() + ".unfinished");
    const auto problem = [&] {
        detail::checkpoint::whole_file file(files, path);
        file.finish();
        return file.problem();
    };
    REQUIRE(::mkfifo(unfinished.c_str(), 0600) == 0);
    CHECK(problem().starts_with("cannot create '" + unfinished.string() + "'"));
    std::filesystem::remove(unfinished);
    std::ofstream(folder.path() / "other") << "kept";
    std::filesystem::create_symlink("other", unfinished);
    CHECK(problem().starts_with("cannot create '" + unfinished.string() + "'"));
    CHECK(std::filesystem::file_size(folder.path() / "other") == 4);
}
