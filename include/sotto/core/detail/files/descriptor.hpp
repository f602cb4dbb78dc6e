#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

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
    descriptor& operator=(descriptor&& other) noexcept;
    ~descriptor() { close(); }

    /// Below 0 if there is none, as poll likes it.
    int handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ >= 0; }

    void close() noexcept;

    /// The number, which from now on somebody else closes.
    int release() noexcept { return std::exchange(handle_, -1); }

private:
    int handle_ = -1;
};

/// errno as an error code.
std::error_code system_reason() noexcept;

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
descriptor above_standard(descriptor opened) noexcept;

/// Opens a file as open(2) does, above the standard streams, not inherited by programs it starts. A
/// terminal that is opened does not become the one that controls the process.
///   errors  none, with errno set
descriptor open_file(const char* path, int flags, ::mode_t mode = 0666) noexcept;

struct stream_closer {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
};
/// A file that is read through a buffer.
using input_stream = std::unique_ptr<std::FILE, stream_closer>;

/// An open file as a stream for reading.
///   errors  none, with errno set: `opened` is none, or no memory is left
input_stream stream_of(descriptor opened) noexcept;

/// Opens a file for reading, above the standard streams.
///   errors  none, with errno set
input_stream open_input(const char* path) noexcept;

/// Opens a socket as socket(2) does, above the standard streams, not inherited by programs.
///   errors  none, with errno set
descriptor open_socket(int domain, int type, int protocol = 0) noexcept;

/// Accepts a connection as accept(2) does, above the standard streams, not inherited by programs.
///   errors  none, with errno set
descriptor accept_socket(int listener, ::sockaddr* from = nullptr,
                         ::socklen_t* size = nullptr) noexcept;

/// Opens /dev/null as each of stdin, stdout and stderr that is closed. Code that this library does
/// not control then cannot get their numbers for files of its own. A program calls it first, while
/// it has one thread.
///   errors  false, with errno set: the system refused to open /dev/null
bool open_standard_streams() noexcept;

/// Above every descriptor that the process may open (ulimit -n).
std::int64_t descriptor_limit() noexcept;

/// How many descriptors above the standard streams the process can still open, at most `enough`.
///   cost    a system call for each descriptor that is looked at: those in use, and `enough`
std::int64_t free_descriptors(std::int64_t enough) noexcept;

/// What is written at one end is read at the other. Programs that are run do not inherit it.
struct pipe_ends {
    descriptor read, write;

    /// Opens both ends above the standard streams; on failure both are none, with errno set.
    static pipe_ends open() noexcept;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/descriptor.ipp"
#endif
