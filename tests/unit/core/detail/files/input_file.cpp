#include "sotto/core/detail/files/input_file.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "support/folders.hpp"

using namespace sotto;

namespace {

/// Why a path is not opened; empty if it is.
std::string refusal(const std::filesystem::path& path) {
    std::error_code why = std::make_error_code(std::errc::io_error);
    const detail::descriptor file = detail::open_regular(path.c_str(), why);
    CHECK(static_cast<bool>(file) == !why);
    if (file) CHECK(file.handle() > STDERR_FILENO);
    return why ? why.message() : "";
}

void listen_at(const std::filesystem::path& path, detail::descriptor& socket) {
    ::sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.string().size() < sizeof address.sun_path);
    std::strcpy(address.sun_path, path.c_str());
    socket = detail::open_socket(AF_UNIX, SOCK_STREAM);
    REQUIRE(::bind(socket.handle(), reinterpret_cast<const ::sockaddr*>(&address),
                   sizeof address) == 0);
}

}  // namespace

TEST_CASE("open_regular: anything but a regular file -> refused by name, without blocking") {
    const testing::scratch_folder scratch("input_file");
    const auto& folder = scratch.path();
    CHECK(refusal(folder) == "it is a folder; expected a regular file");
    CHECK(refusal(folder / "nowhere") == "No such file or directory");
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    CHECK(refusal(folder / "fifo") == "it is a FIFO; expected a regular file");
    detail::descriptor socket;
    listen_at(folder / "socket", socket);
    CHECK(refusal(folder / "socket") == "it is a socket; expected a regular file");
    CHECK(refusal("/dev/null") == "it is a device; expected a regular file");
    std::filesystem::create_symlink("fifo", folder / "to_fifo");
    CHECK(refusal(folder / "to_fifo") == "it is a FIFO; expected a regular file");
    std::filesystem::create_symlink("nowhere", folder / "dangling");
    CHECK(refusal(folder / "dangling") == "it is a symbolic link to a path that does not exist");
    std::filesystem::create_symlink("itself", folder / "itself");
    CHECK(refusal(folder / "itself") == std::generic_category().message(static_cast<int>(
                                            std::errc::too_many_symbolic_link_levels)));
    std::ofstream(folder / "file") << "text";
    CHECK(refusal(folder / "file").empty());
    std::filesystem::create_symlink("file", folder / "to_file");
    CHECK(refusal(folder / "to_file").empty());
    CHECK(refusal("").size() > 0);
}

TEST_CASE("read_regular: a file of any size -> all its bytes") {
    const testing::scratch_folder scratch("read_regular");
    for (const std::size_t size : {0u, 1u, 70'000u}) {
        const auto file = scratch.path() / std::to_string(size);
        std::string text(size, 'x');
        if (size > 0) text.back() = 'y';
        std::ofstream(file) << text;
        std::error_code why;
        const bytes read = detail::read_regular(file, why);
        CHECK_FALSE(why);
        CHECK(std::string(reinterpret_cast<const char*>(read.data()), read.size()) == text);
    }
    std::error_code why;
    CHECK(detail::read_regular(scratch.path(), why).empty());
    CHECK(why == detail::file_fault::is_folder);
}
