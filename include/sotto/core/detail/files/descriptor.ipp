#pragma once

#include "sotto/core/detail/files/descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL descriptor& descriptor::operator=(descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

SOTTO_DECL void descriptor::close() noexcept {
    if (handle_ >= 0) ::close(std::exchange(handle_, -1));
}

SOTTO_DECL std::error_code system_reason() noexcept {
    return {errno, std::generic_category()};
}

SOTTO_DECL descriptor above_standard(descriptor opened) noexcept {
    if (!opened || opened.handle() > STDERR_FILENO) return opened;
    descriptor high(::fcntl(opened.handle(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    const int why = errno;
    opened.close();
    errno = why;
    return high;
}

SOTTO_DECL descriptor open_file(const char* path, int flags, ::mode_t mode) noexcept {
    return above_standard(descriptor(
        uninterrupted([&] { return ::open(path, flags | O_CLOEXEC | O_NOCTTY, mode); })));
}

SOTTO_DECL input_stream stream_of(descriptor opened) noexcept {
    if (!opened) return nullptr;
    input_stream stream(::fdopen(opened.handle(), "rb"));
    if (stream) opened.release();
    return stream;
}

SOTTO_DECL input_stream open_input(const char* path) noexcept {
    return stream_of(open_file(path, O_RDONLY));
}

SOTTO_DECL descriptor open_socket(int domain, int type, int protocol) noexcept {
    return above_standard(descriptor(::socket(domain, type | SOCK_CLOEXEC, protocol)));
}

SOTTO_DECL descriptor accept_socket(int listener, ::sockaddr* from, ::socklen_t* size) noexcept {
    return above_standard(descriptor(::accept4(listener, from, size, SOCK_CLOEXEC)));
}

SOTTO_DECL bool open_standard_streams() noexcept {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        // The lowest free number is that of this stream. Started programs inherit it.
        const int mode = stream == STDIN_FILENO ? O_RDONLY : O_WRONLY;
        descriptor opened(uninterrupted([&] { return ::open("/dev/null", mode); }));
        if (!opened) return false;
        if (opened.handle() == stream) opened.release();
    }
    return true;
}

SOTTO_DECL std::int64_t descriptor_limit() noexcept {
    rlimit most{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_NOFILE, &most);
    return most.rlim_cur > INT32_MAX ? INT32_MAX : static_cast<std::int64_t>(most.rlim_cur);
}

SOTTO_DECL std::int64_t free_descriptors(std::int64_t enough) noexcept {
    std::int64_t free = 0;
    const std::int64_t limit = descriptor_limit();
    for (std::int64_t next = STDERR_FILENO + 1; next < limit && free < enough; ++next)
        if (::fcntl(static_cast<int>(next), F_GETFD) < 0 && errno == EBADF) ++free;
    return free;
}

SOTTO_DECL pipe_ends pipe_ends::open() noexcept {
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

}  // namespace sotto::detail
