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

/// An open file, pipe or socket. The destructor closes it.
class descriptor {
public:
    descriptor() = default;
    /// Owns what the system opened; below 0 it is empty.
    explicit descriptor(int handle) noexcept : handle_(handle) {}
    descriptor(descriptor&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept;
    ~descriptor() { close(); }

    /// Returns the number; below 0 if the descriptor is empty, which poll accepts.
    int handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ >= 0; }

    void close() noexcept;

    /// Returns the number and leaves it to the caller to close it.
    int release() noexcept { return std::exchange(handle_, -1); }

private:
    int handle_ = -1;
};

/// Returns errno as an error code.
std::error_code system_reason() noexcept;

/// Repeats a system call while signals interrupt it.
template <class Call>
auto uninterrupted(Call&& call) noexcept(noexcept(call())) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

/// Moves a file to a number above those of stdin, stdout and stderr. If a process starts with one
/// of these closed, the next file that it opens gets the number, and output goes into that file. So
/// every file and socket of the library passes through this function.
///   errors  empty, with errno set: `opened` is empty, or the process has no number left
descriptor above_standard(descriptor opened) noexcept;

/// Opens a file like open(2), above the standard streams. Programs that the process starts do not
/// inherit it. A terminal does not become the controlling terminal.
///   errors  empty, with errno set
descriptor open_file(const char* path, int flags, ::mode_t mode = 0666) noexcept;

struct stream_closer {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
};
/// A file that is read through a buffer.
using input_stream = std::unique_ptr<std::FILE, stream_closer>;

/// Returns an open file as a stream for reading.
///   errors  null, with errno set: `opened` is empty, or no memory is left
input_stream stream_of(descriptor opened) noexcept;

/// Opens a file for reading, above the standard streams.
///   errors  null, with errno set
input_stream open_input(const char* path) noexcept;

/// Opens a socket like socket(2), above the standard streams. Programs that the process starts do
/// not inherit it.
///   errors  empty, with errno set
descriptor open_socket(int domain, int type, int protocol = 0) noexcept;

/// Accepts a connection like accept(2), above the standard streams. Programs that the process
/// starts do not inherit it.
///   errors  empty, with errno set
descriptor accept_socket(int listener, ::sockaddr* from = nullptr,
                         ::socklen_t* size = nullptr) noexcept;

/// Opens /dev/null for each of stdin, stdout and stderr that is closed. Code outside this library
/// then cannot get their numbers for its own files. A program calls it first, while it has one
/// thread.
///   errors  false, with errno set: the system refused to open /dev/null
bool open_standard_streams() noexcept;

/// Returns a bound above every descriptor that the process may open (ulimit -n).
std::int64_t descriptor_limit() noexcept;

/// Returns the number of descriptors above the standard streams that the process can still open, at
/// most `enough`.
///   cost    a system call for each descriptor in use and for each free one that is counted
std::int64_t free_descriptors(std::int64_t enough) noexcept;

/// Both ends of a pipe. Programs that the process starts do not inherit it.
struct pipe_ends {
    descriptor read, write;

    /// Opens both ends above the standard streams. On failure both are empty, with errno set.
    static pipe_ends open() noexcept;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/descriptor.ipp"
#endif
