#include "sotto/core/detail/files/file_kind.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "support/folders.hpp"

using namespace sotto::detail;

namespace {

std::string refusal(const std::filesystem::path& path) {
    std::error_code why;
    const std::filesystem::path place = replaceable(path, why);
    return why ? why_not_replaced(why) : place.string();
}

}  // namespace

TEST_CASE("replaceable: links -> the file at their end, there or not") {
    const sotto::testing::scratch_folder folder("file_kind");
    const auto path = [&](const char* name) { return (folder.path() / name).string(); };
    std::ofstream(path("run7")) << "old";
    std::filesystem::create_directory(path("sub"));
    std::filesystem::create_symlink("run7", path("latest"));
    std::filesystem::create_symlink("latest", path("again"));
    std::filesystem::create_symlink("../run7", path("sub/up"));
    std::filesystem::create_symlink(path("run8"), path("dangling"));
    CHECK(refusal(path("run7")) == path("run7"));
    CHECK(refusal(path("new")) == path("new"));
    CHECK(refusal(path("latest")) == path("run7"));
    CHECK(refusal(path("again")) == path("run7"));
    CHECK(refusal(path("dangling")) == path("run8"));
    CHECK(std::filesystem::equivalent(refusal(path("sub/up")), path("run7")));
    std::filesystem::create_symlink("loop", path("loop"));
    CHECK(refusal(path("loop")) == "Too many levels of symbolic links");
}

TEST_CASE("replaceable: no regular file -> refused by its kind") {
    const sotto::testing::scratch_folder folder("file_kind");
    const std::string fifo = (folder.path() / "fifo").string();
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    CHECK(refusal(folder.path()) == "it is a folder; expected a regular file or a new name");
    CHECK(refusal(fifo) == "it is a FIFO; expected a regular file or a new name");
    CHECK(refusal("/dev/null") == "it is a device; expected a regular file or a new name");
    const std::filesystem::path link = folder.path() / "link";
    std::filesystem::create_symlink("/dev/null", link);
    CHECK(refusal(link) == "it is a device; expected a regular file or a new name");
    CHECK(is_device(link));
    CHECK_FALSE(is_device(fifo));
    CHECK_FALSE(is_device(folder.path() / "none"));

    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string place = (folder.path() / "s").string();
    REQUIRE(place.size() < sizeof at.sun_path);
    std::copy(place.begin(), place.end(), at.sun_path);
    REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    CHECK(refusal(place) == "it is a socket; expected a regular file or a new name");
    ::close(listener);
}
