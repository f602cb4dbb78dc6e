#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"

namespace sotto::launch::detail {

/// The system refused something; errno says why.
[[noreturn]] inline void refuse_by_system(const std::string& what) {
    throw io_failure("launch: " + what + ": " + std::strerror(errno));
}

/// An open file, pipe or socket, closed when this goes.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int handle) noexcept : handle_(handle) {}
    descriptor(descriptor&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~descriptor() { close(); }

    /// Below 0 where there is none, as poll likes it.
    int handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ >= 0; }

    void close() noexcept {
        if (handle_ >= 0) ::close(std::exchange(handle_, -1));
    }

private:
    int handle_ = -1;
};

/// The same file under a number above those of stdin, stdout and stderr, so that a process to be
/// can be given those.
inline descriptor above_standard(descriptor opened) {
    if (opened.handle() > STDERR_FILENO) return opened;
    descriptor high(::fcntl(opened.handle(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!high) refuse_by_system("a file cannot be opened twice");
    return high;
}

/// What is written at one end is read at the other. Programs that are run do not inherit it.
struct pipe_ends {
    descriptor read, write;

    static pipe_ends make() {
        std::array<int, 2> raw{};
        if (::pipe2(raw.data(), O_CLOEXEC) != 0) refuse_by_system("the system has no pipe left");
        descriptor read(raw[0]), write(raw[1]);
        return {above_standard(std::move(read)), above_standard(std::move(write))};
    }
};

}  // namespace sotto::launch::detail
