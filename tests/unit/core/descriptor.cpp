#include "sotto/core/descriptor.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

bool is_null_device(int stream) {
    struct stat found {};
    struct stat expected {};
    return ::fstat(stream, &found) == 0 && ::stat("/dev/null", &expected) == 0 &&
           S_ISCHR(found.st_mode) && found.st_rdev == expected.st_rdev;
}

/// In a process of its own, where these streams are closed: which of them are /dev/null afterwards,
/// as bits; 8 or more if something else is wrong.
int opened_of(int closed) {
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        const int other = sotto::detail::open_file("/dev/zero", O_RDWR).release();
        for (int stream = 0; stream <= 2; ++stream) {
            ::dup2(other, stream);  // whatever runs the tests may have /dev/null there
            if ((closed >> stream & 1) != 0) ::close(stream);
        }
        if (!sotto::detail::open_standard_streams()) ::_exit(8);
        int opened = 0;
        for (int stream = 0; stream <= 2; ++stream) {
            if (::fcntl(stream, F_GETFD) != 0) ::_exit(9);  // closed, or closed by exec
            if (!is_null_device(stream)) continue;
            opened |= 1 << stream;
            const int mode = ::fcntl(stream, F_GETFL) & O_ACCMODE;
            if (mode != (stream == 0 ? O_RDONLY : O_WRONLY)) ::_exit(10);
        }
        if (::open("/dev/null", O_RDONLY) <= 2) ::_exit(11);
        ::_exit(opened);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("open_standard_streams: any closed -> /dev/null, those alone") {
    for (int closed = 0; closed < 8; ++closed) {
        CAPTURE(closed);
        CHECK(opened_of(closed) == closed);
    }
}

TEST_CASE("free_descriptors: a limit -> the free numbers below it, above the streams") {
    using namespace sotto::detail;
    rlimit most{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &most) == 0);
    int first = 3;  // that is free
    while (::fcntl(first, F_GETFD) >= 0) ++first;
    rlimit few = most;
    few.rlim_cur = static_cast<rlim_t>(first) + 3;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(descriptor_limit() == first + 3);
    const std::int64_t free = free_descriptors(100);
    const descriptor one = open_file("/dev/null", O_RDONLY);
    const std::int64_t fewer = free_descriptors(100), enough = free_descriptors(1);
    ::setrlimit(RLIMIT_NOFILE, &most);
    CHECK(one);
    CHECK(free >= 1);
    CHECK(free <= 3);
    CHECK(fewer == free - 1);
    CHECK(enough == (fewer == 0 ? 0 : 1));
}

TEST_CASE("standard_streams_filled: streams closed -> others open none of their numbers") {
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        for (int stream = 0; stream <= 2; ++stream) ::close(stream);
        {
            const sotto::detail::standard_streams_filled filled;
            if (::open("/dev/null", O_RDONLY) <= 2) ::_exit(1);
        }
        for (int stream = 0; stream <= 2; ++stream)
            if (::fcntl(stream, F_GETFD) >= 0) ::_exit(2);  // closed again
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(status == 0);
}
