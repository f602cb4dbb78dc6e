#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

namespace sotto::detail {

/// An open file, pipe or socket, closed when this goes.
class descriptor {
public:
    descriptor() = default;
    /// Takes over what the system opened; below 0 it is none.
    explicit descriptor(int handle) noexcept : handle_(handle) {}
    descriptor(descriptor&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~descriptor() { close(); }

    /// Below 0 if there is none, as poll likes it.
    int handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ >= 0; }

    void close() noexcept {
        if (handle_ >= 0) ::close(std::exchange(handle_, -1));
    }

    /// The number, which from now on somebody else closes.
    int release() noexcept { return std::exchange(handle_, -1); }

private:
    int handle_ = -1;
};

/// errno as an error code.
inline std::error_code system_reason() noexcept {
    return {errno, std::generic_category()};
}

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call&& call) noexcept(noexcept(call())) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// The same file under a number above those of stdin, stdout and stderr. A process that was started
/// with one of these closed gets its number for the next file it opens, and what it prints would
/// then go into that file. Every file and socket of the library therefore passes through here.
///   errors  none, with errno set: `opened` is none, or the process has no number left
inline descriptor above_standard(descriptor opened) noexcept {
    if (!opened || opened.handle() > STDERR_FILENO) return opened;
    descriptor high(::fcntl(opened.handle(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    const int why = errno;
    opened.close();
    errno = why;
    return high;
}

/// Opens a file as open(2) does, above the standard streams, not inherited by programs it starts. A
/// terminal that is opened does not become the one that controls the process.
///   errors  none, with errno set
inline descriptor open_file(const char* path, int flags, ::mode_t mode = 0666) noexcept {
    return above_standard(descriptor(
        uninterrupted([&] { return ::open(path, flags | O_CLOEXEC | O_NOCTTY, mode); })));
}

struct stream_closer {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
};
/// A file that is read through a buffer.
using input_stream = std::unique_ptr<std::FILE, stream_closer>;

/// An open file as a stream for reading.
///   errors  none, with errno set: `opened` is none, or no memory is left
inline input_stream stream_of(descriptor opened) noexcept {
    if (!opened) return nullptr;
    input_stream stream(::fdopen(opened.handle(), "rb"));
    if (stream) opened.release();
    return stream;
}

/// Opens a file for reading, above the standard streams.
///   errors  none, with errno set
inline input_stream open_input(const char* path) noexcept {
    return stream_of(open_file(path, O_RDONLY));
}

/// Opens a socket as socket(2) does, above the standard streams, not inherited by programs.
///   errors  none, with errno set
inline descriptor open_socket(int domain, int type, int protocol = 0) noexcept {
    return above_standard(descriptor(::socket(domain, type | SOCK_CLOEXEC, protocol)));
}

/// Accepts a connection as accept(2) does, above the standard streams, not inherited by programs.
///   errors  none, with errno set
inline descriptor accept_socket(int listener, ::sockaddr* from = nullptr,
                                ::socklen_t* size = nullptr) noexcept {
    return above_standard(descriptor(::accept4(listener, from, size, SOCK_CLOEXEC)));
}

/// Opens /dev/null as each of stdin, stdout and stderr that is closed. Code that this library does
/// not control then cannot get their numbers for files of its own. A program calls it first, while
/// it has one thread.
///   errors  false, with errno set: the system refused to open /dev/null
inline bool open_standard_streams() noexcept {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        // The lowest free number, which is this stream's. Programs that are started inherit it.
        const int mode = stream == STDIN_FILENO ? O_RDONLY : O_WRONLY;
        descriptor opened(uninterrupted([&] { return ::open("/dev/null", mode); }));
        if (!opened) return false;
        if (opened.handle() == stream) opened.release();
    }
    return true;
}

/// Above every descriptor that the process may open (ulimit -n).
inline std::int64_t descriptor_limit() noexcept {
    rlimit most{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_NOFILE, &most);
    return most.rlim_cur > INT32_MAX ? INT32_MAX : static_cast<std::int64_t>(most.rlim_cur);
}

/// How many descriptors above the standard streams the process can still open, at most `enough`.
///   cost    a system call for each descriptor that is looked at: those in use, and `enough`
inline std::int64_t free_descriptors(std::int64_t enough) noexcept {
    std::int64_t free = 0;
    const std::int64_t limit = descriptor_limit();
    for (std::int64_t next = STDERR_FILENO + 1; next < limit && free < enough; ++next)
        if (::fcntl(static_cast<int>(next), F_GETFD) < 0 && errno == EBADF) ++free;
    return free;
}

/// What is written at one end is read at the other. Programs that are run do not inherit it.
struct pipe_ends {
    descriptor read, write;

    /// Opens both ends above the standard streams; on failure both are none, with errno set.
    static pipe_ends open() noexcept {
        std::array<int, 2> raw{};
        if (::pipe2(raw.data(), O_CLOEXEC) != 0) return {};
        pipe_ends ends{descriptor(raw[0]), descriptor(raw[1])};
        ends.read = above_standard(std::move(ends.read));
        if (ends.read) ends.write = above_standard(std::move(ends.write));
        if (ends.read && ends.write) return ends;
        const int why = errno;
        ends = {};
        errno = why;
        return ends;
    }
};

}  // namespace sotto::detail
