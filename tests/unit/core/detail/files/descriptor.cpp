#include "sotto/core/detail/files/descriptor.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

using namespace sotto::detail;

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

/// In a process of its own: whether all of it is as expected; the status tells which check failed.
template <class Body>
int in_a_process(Body body) {
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) ::_exit(body());
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

bool is_above_and_not_inherited(const descriptor& opened) {
    return opened.handle() > STDERR_FILENO && ::fcntl(opened.handle(), F_GETFD) == FD_CLOEXEC;
}

}  // namespace

TEST_CASE("descriptors: any standard stream is closed -> files, sockets and pipes lie above") {
    for (int closed = 0; closed < 8; ++closed) {
        CAPTURE(closed);
        CHECK(in_a_process([&] {
                  for (int stream = 0; stream <= 2; ++stream)
                      if ((closed >> stream & 1) != 0) ::close(stream);
                  const descriptor file = open_file("/dev/null", O_RDONLY);
                  if (!is_above_and_not_inherited(file)) return 1;
                  const descriptor socket = open_socket(AF_UNIX, SOCK_STREAM);
                  if (!is_above_and_not_inherited(socket)) return 2;
                  const pipe_ends pipe = pipe_ends::open();
                  if (!is_above_and_not_inherited(pipe.read)) return 3;
                  if (!is_above_and_not_inherited(pipe.write)) return 4;
                  for (int stream = 0; stream <= 2; ++stream)  // nothing is left there
                      if ((::fcntl(stream, F_GETFD) < 0) != ((closed >> stream & 1) != 0)) return 5;
                  return 0;
              }) == 0);
    }
}

TEST_CASE("descriptors: no number is left above the standard streams -> none, and the reason") {
    CHECK(in_a_process([] {
              ::close(STDIN_FILENO);
              const ::rlimit three{STDERR_FILENO + 1, STDERR_FILENO + 1};
              if (::setrlimit(RLIMIT_NOFILE, &three) != 0) return 1;
              errno = 0;
              if (open_file("/dev/null", O_RDONLY)) return 2;
              if (errno != EINVAL && errno != EMFILE) return 3;
              errno = 0;
              const pipe_ends pipe = pipe_ends::open();
              if (pipe.read || pipe.write) return 4;
              if (errno != EINVAL && errno != EMFILE) return 5;
              return ::fcntl(STDIN_FILENO, F_GETFD) < 0 ? 0 : 6;  // what was opened is closed
          }) == 0);
}

TEST_CASE("uninterrupted: a signal interrupts a call -> it is made again") {
    int calls = 0;
    const auto call = [&] {
        errno = ++calls < 3 ? EINTR : EIO;
        return calls < 4 ? -1 : 0;
    };
    CHECK(uninterrupted(call) == -1);
    CHECK(calls == 3);
    CHECK(errno == EIO);
    CHECK(uninterrupted(call) == 0);
    CHECK(calls == 4);
}

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

TEST_CASE("free_descriptors: standard streams closed -> their numbers do not count") {
    CHECK(in_a_process([] {
              rlimit few{};
              ::getrlimit(RLIMIT_NOFILE, &few);
              few.rlim_cur = 64;
              if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return 1;
              const std::int64_t before = free_descriptors(100);
              ::close(STDIN_FILENO);
              return free_descriptors(100) == before ? 0 : 2;
          }) == 0);
}

TEST_CASE("descriptors: standard streams closed -> all have other numbers") {
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        using namespace sotto::detail;
        for (int stream = 0; stream <= 2; ++stream) ::close(stream);
        const descriptor file = open_file("/dev/null", O_RDONLY);
        const input_stream input = open_input("/dev/null");
        const descriptor event = above_standard(descriptor(::dup(file.handle())));
        const pipe_ends pipe = pipe_ends::open();
        const descriptor listener = open_socket(AF_UNIX, SOCK_STREAM);
        ::sockaddr_un at{};
        at.sun_family = AF_UNIX;  // without a name: the system chooses one
        ::socklen_t size = sizeof at;
        auto* const address = reinterpret_cast<::sockaddr*>(&at);
        if (::bind(listener.handle(), address, sizeof at.sun_family) != 0 ||
            ::listen(listener.handle(), 1) != 0 ||
            ::getsockname(listener.handle(), address, &size) != 0)
            ::_exit(1);
        const descriptor client = open_socket(AF_UNIX, SOCK_STREAM);
        if (::connect(client.handle(), address, size) != 0) ::_exit(2);
        const descriptor served = accept_socket(listener.handle());
        for (const int number :
             {file.handle(), ::fileno(input.get()), event.handle(), pipe.read.handle(),
              pipe.write.handle(), listener.handle(), client.handle(), served.handle()}) {
            if (number <= 2) ::_exit(3);
            if ((::fcntl(number, F_GETFD) & FD_CLOEXEC) == 0) ::_exit(4);
        }
        for (int stream = 0; stream <= 2; ++stream)
            if (::fcntl(stream, F_GETFD) >= 0) ::_exit(5);  // and none is left there
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(status == 0);
}
