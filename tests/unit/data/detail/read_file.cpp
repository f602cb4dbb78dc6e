#include "sotto/data/detail/read_file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sotto/core/errors.hpp"
#include "support/folders.hpp"

using sotto::detail::data::read_file;

TEST_CASE("read_file: a regular file or a link to one -> all its bytes") {
    const sotto::testing::scratch_folder folder("read_file");
    const auto path = folder.path() / "data", link = folder.path() / "link";
    for (const std::string content : {"", "abc"}) {
        std::ofstream(path, std::ios::binary) << content;
        CHECK(read_file(path).size() == content.size());
    }
    std::filesystem::create_symlink("data", link);
    CHECK(read_file(link).size() == 3);
}

TEST_CASE("read_file: no regular file -> refused, and a FIFO not waited for") {
    const sotto::testing::scratch_folder folder("read_file");
    const std::string fifo = (folder.path() / "fifo").string();
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK_THROWS_WITH_AS(
        read_file(fifo),
        ("cannot read '" + fifo + "': it is a FIFO; expected a regular file").c_str(),
        sotto::io_failure);
    CHECK_THROWS_WITH_AS(read_file("/dev/zero"),
                         "cannot read '/dev/zero': it is a device; expected a regular file",
                         sotto::io_failure);
    CHECK_THROWS_WITH_AS(
        read_file(folder.path()),
        ("cannot read '" + folder.path().string() + "': it is a folder; expected a regular file")
            .c_str(),
        sotto::io_failure);
}
