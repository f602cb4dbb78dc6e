#pragma once

#include "sotto/core/detail/files/write_quietly.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL ::ssize_t write_quietly(int to, const char* from, std::size_t size) noexcept {
    sigset_t pipe, pending, before;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const ::ssize_t count = ::write(to, from, size);
    const int why = errno;
    const timespec now{};
    // The system sends the signal to this thread only. It is pending unless it is ignored.
    if (count < 0 && why == EPIPE && !::sigismember(&pending, SIGPIPE))
        while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {}
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = why;
    return count;
}

}  // namespace sotto::detail
