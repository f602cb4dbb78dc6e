#include "sotto/core/standard_streams.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "sotto/core/detail/files/descriptor.hpp"

namespace {

/// What require_standard_output says in a process whose stdout is this file, closed if there is
/// none; empty: all was written.
std::string after_printing(const char* stdout_is, bool opens_streams = true) {
    auto ends = sotto::detail::pipe_ends::open();
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        ::close(STDOUT_FILENO);
        if (stdout_is != nullptr) {
            const auto file = sotto::detail::open_file(stdout_is, O_WRONLY);
            ::dup2(file.handle(), STDOUT_FILENO);
        }
        if (opens_streams) sotto::open_standard_streams();
        std::string said;
        std::fputs("what was asked for\n", stdout);
        try {
            sotto::require_standard_output();
        } catch (const sotto::output_incomplete& e) {
            said = e.what();
        }
        [[maybe_unused]] const auto sent = ::write(ends.write.handle(), said.data(), said.size());
        ::_exit(0);
    }
    ends.write.close();
    std::string said(256, ' ');
    const auto got = ::read(ends.read.handle(), said.data(), said.size());
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(status == 0);
    said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return said;
}

}  // namespace

TEST_CASE("require_standard_output: a full device -> incomplete, with the reason") {
    CHECK(after_printing("/dev/null").empty());
    CHECK(after_printing(nullptr).empty());  // closed: no output was asked for
    CHECK(after_printing(nullptr, false) == "standard output is incomplete: Bad file descriptor");
    if (sotto::detail::open_file("/dev/full", O_WRONLY))
        CHECK(after_printing("/dev/full") ==
              "standard output is incomplete: No space left on device");
}
