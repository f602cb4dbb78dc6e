#include "sotto/core/detail/files/line_file.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "sotto/core/detail/files/descriptor.hpp"
#include "support/folders.hpp"
#include "support/full_at.hpp"

using namespace sotto;
using detail::file_fault, detail::line_file;

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// A FIFO, and its end for reading.
struct fifo {
    explicit fifo(const std::filesystem::path& at) : path(at) {
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    }
    void open() { reads = detail::open_file(path.c_str(), O_RDONLY | O_NONBLOCK); }

    /// What is there to be read.
    std::string text() const {
        std::string all;
        std::array<char, 4096> piece;
        for (::ssize_t got; (got = ::read(reads.handle(), piece.data(), piece.size())) > 0;)
            all.append(piece.data(), static_cast<std::size_t>(got));
        return all;
    }

    std::filesystem::path path;
    detail::descriptor reads;
};

constexpr duration at_once{};

}  // namespace

TEST_CASE("line_file: what a crash left of a line -> cut off before the next") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "sub" / "log";
    line_file fresh(path);
    CHECK_FALSE(fresh.write("one"));
    CHECK(text_of(path) == "one\n");
    const std::string large(100'000, 'x');
    for (const auto& [found, whole] : {std::pair<std::string, std::string>{"one\ntw", "one\n"},
                                       {"tw", ""},
                                       {"one\n", "one\n"},
                                       {"one\n" + large, "one\n"},
                                       {large, ""}}) {
        put(path, found);
        line_file file(path);
        REQUIRE_FALSE(file.open_at_end());
        CHECK(text_of(path) == whole);
        CHECK_FALSE(file.write("three"));
        CHECK(text_of(path) == whole + "three\n");
    }
    line_file again(path);
    REQUIRE_FALSE(again.open_empty());
    CHECK(text_of(path).empty());
}

TEST_CASE("line_file: a disk that is full -> the reason, and whole lines later") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "log";
    line_file file(path);
    REQUIRE_FALSE(file.open_empty());
    REQUIRE_FALSE(file.write("one"));
    {
        const testing::full_at full(8);
        CHECK(file.write("twenty-two") == std::errc::file_too_large);
    }
    CHECK_FALSE(file.write("three"));
    CHECK(text_of(path) == "one\nthree\n");
}

TEST_CASE("line_file: taken away while its disk is full -> reported, then a new file") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "log";
    const auto moved = folder.path() / "log.1";
    const auto lose = [&](auto&& change) {
        line_file file(path);
        REQUIRE_FALSE(file.open_empty());
        REQUIRE_FALSE(file.write("one"));
        {
            const testing::full_at full(8);
            REQUIRE(file.write("twenty-two") == std::errc::file_too_large);
        }
        change();
        const std::error_code reason = file.write("two");
        CHECK_FALSE(file.write("three"));
        CHECK(text_of(path) == "three\n");
        std::filesystem::remove(path);
        return reason;
    };
    CHECK(lose([&] { std::filesystem::rename(path, moved); }) == file_fault::removed);
    CHECK(lose([&] { std::filesystem::resize_file(path, 0); }) == file_fault::shortened);
}

TEST_CASE("line_file: a reader takes nothing, signals come -> refused once the time is over") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "log";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const auto reader = detail::open_file(path.c_str(), O_RDONLY | O_NONBLOCK);
    line_file file(path, std::chrono::milliseconds(50));
    // By far more often than the wait lasts, as a profiler's timer does.
    struct ::sigaction quiet {
    }, before{};
    quiet.sa_handler = [](int) {};
    REQUIRE(::sigaction(SIGALRM, &quiet, &before) == 0);
    const ::itimerval often{{0, 1000}, {0, 1000}};
    REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
    std::error_code reason;
    for (int line = 0; line < 1000 && !reason; ++line) reason = file.write(std::string(4096, 'x'));
    const ::itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(reason == file_fault::slow_reader);
}

TEST_CASE("line_file: removed, renamed or shortened -> reported, then a new file") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "log";
    const auto lose = [&](auto&& change) {
        put(path, "");
        line_file file(path);
        REQUIRE_FALSE(file.open_at_end());
        REQUIRE_FALSE(file.write("one"));
        CHECK_FALSE(file.look());
        change();
        const std::error_code reason = file.write("two");
        CHECK_FALSE(file.write("three"));
        CHECK(text_of(path) == "three\n");
        CHECK_FALSE(file.write("four"));
        std::filesystem::remove(path);
        return reason;
    };
    const auto moved = folder.path() / "log.1";
    CHECK(lose([&] { std::filesystem::remove(path); }) == file_fault::removed);
    CHECK(lose([&] { std::filesystem::rename(path, moved); }) == file_fault::renamed);
    CHECK(text_of(moved) == "one\n");
    CHECK(lose([&] {
              std::filesystem::rename(path, moved);
              put(path, "");
          }) == file_fault::renamed);
    CHECK(lose([&] { std::filesystem::resize_file(path, 0); }) == file_fault::shortened);
    CHECK(detail::is_loss(file_fault::shortened));
    CHECK_FALSE(detail::is_loss(std::make_error_code(std::errc::no_space_on_device)));
}

TEST_CASE("line_file: a folder that is removed -> made again") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "logs" / "log";
    line_file file(path);
    REQUIRE_FALSE(file.write("one"));
    std::filesystem::remove_all(path.parent_path());
    CHECK(file.write("two") == file_fault::removed);
    CHECK_FALSE(file.write("three"));
    CHECK(text_of(path) == "three\n");
}

TEST_CASE("line_file: others append to it -> nothing is lost") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "log";
    line_file one(path), other(path);
    for (int turn = 0; turn < 3; ++turn) {
        CHECK_FALSE(one.write("one"));
        CHECK_FALSE(other.write("other"));
    }
    CHECK(text_of(path) == "one\nother\none\nother\none\nother\n");
}

TEST_CASE("line_file: the program calls chdir -> the same file") {
    const testing::scratch_folder folder("line_file");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    line_file file("log");
    const std::error_code first = file.write("one");
    std::filesystem::current_path(before);
    CHECK_FALSE(first);
    CHECK_FALSE(file.write("two"));
    file.close();
    CHECK_FALSE(file.write("three"));
    CHECK(file.path() == "log");
    CHECK(text_of(folder.path() / "log") == "one\ntwo\nthree\n");
}

TEST_CASE("line_file: a device -> written into, and nothing beside it") {
    line_file null("/dev/null");
    CHECK_FALSE(null.try_out());
    CHECK_FALSE(null.open_empty());
    CHECK_FALSE(null.write("one"));
    CHECK_FALSE(null.open_at_end());
    CHECK_FALSE(null.look());
    CHECK(std::filesystem::is_character_file("/dev/null"));
    if (std::filesystem::exists("/dev/full"))
        CHECK(line_file("/dev/full").write("one") == std::errc::no_space_on_device);
    const testing::scratch_folder folder("line_file");
    CHECK(line_file(folder.path()).try_out() == std::errc::is_a_directory);
}

TEST_CASE("line_file: a FIFO without a reader -> refused at once, not waited for") {
    const testing::scratch_folder folder("line_file");
    fifo pipe(folder.path() / "fifo");
    line_file file(pipe.path, at_once);
    CHECK(file.try_out() == file_fault::no_reader);
    CHECK(file.write("one") == file_fault::no_reader);
    pipe.open();
    CHECK_FALSE(file.try_out());
    CHECK_FALSE(file.open_empty());  // stays open: closing it would end the reader
    CHECK_FALSE(file.write("two"));
    CHECK(pipe.text() == "two\n");
    pipe.reads.close();
    CHECK(file.write("three") == std::errc::broken_pipe);  // and no SIGPIPE
    CHECK(file.write("four") == file_fault::no_reader);
    pipe.open();
    CHECK_FALSE(file.write("five"));
    CHECK(pipe.text() == "five\n");
}

TEST_CASE("line_file: a FIFO whose reader is slow -> whole lines or none") {
    const testing::scratch_folder folder("line_file");
    fifo pipe(folder.path() / "fifo");
    pipe.open();
    line_file file(pipe.path, at_once);
    const std::string line(30'000, 'x');
    int written = 0;
    std::error_code reason;
    while (!(reason = file.write(line))) ++written;
    CHECK(reason == file_fault::slow_reader);
    CHECK(written >= 2);  // 64 KiB, of which the last line has a part
    CHECK(file.write("dropped") == file_fault::slow_reader);
    std::string got = pipe.text();
    CHECK_FALSE(file.write("last"));
    got += pipe.text();
    std::string whole;
    for (int i = 0; i < written; ++i) whole += line + "\n";
    CHECK(got == whole + "last\n");
    CHECK_FALSE(file.drain());
}

TEST_CASE("line_file: standard output of this process -> never emptied") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "out";
    put(path, "printed");
    const detail::descriptor before(::dup(STDIN_FILENO));
    const auto out = detail::open_file(path.c_str(), O_RDWR);
    REQUIRE(::dup2(out.handle(), STDIN_FILENO) == 0);
    line_file file(path);
    const std::error_code opened = file.open_empty();
    const std::error_code written = file.write(" and logged");
    ::dup2(before.handle(), STDIN_FILENO);
    CHECK_FALSE(opened);
    CHECK_FALSE(written);
    CHECK(text_of(path) == "printed and logged\n");
}

TEST_CASE("line_file: standard error goes into the same file -> neither overwrites the other") {
    const testing::scratch_folder folder("line_file");
    const auto path = folder.path() / "out";
    put(path, "");
    const detail::descriptor before(::dup(STDERR_FILENO));
    const auto out = detail::open_file(path.c_str(), O_WRONLY);
    REQUIRE(::dup2(out.handle(), STDERR_FILENO) == STDERR_FILENO);
    line_file file(path);
    const std::error_code opened = file.open_empty();
    const std::error_code written = file.write("logged");
    const auto printed = ::write(STDERR_FILENO, "printed\n", 8);
    const std::error_code again = file.write("more");
    ::dup2(before.handle(), STDERR_FILENO);
    CHECK_FALSE(opened);
    CHECK_FALSE(written);
    CHECK_FALSE(again);
    CHECK(printed == 8);
    CHECK(text_of(path) == "logged\nprinted\nmore\n");
}

TEST_CASE("line_file: standard error is closed -> the file gets another number") {
    const testing::scratch_folder folder("line_file");
    const detail::descriptor before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10));
    ::close(STDERR_FILENO);
    line_file file(folder.path() / "log");
    const std::error_code reason = file.write("one");
    const bool is_free = ::fcntl(STDERR_FILENO, F_GETFD) < 0;
    ::dup2(before.handle(), STDERR_FILENO);
    CHECK_FALSE(reason);
    CHECK(is_free);
}
