#include "support/failing_calls.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#if defined(__SANITIZE_THREAD__)
#define SOTTO_FAILS_CALLS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOTTO_FAILS_CALLS 0
#endif
#endif
#ifndef SOTTO_FAILS_CALLS
#define SOTTO_FAILS_CALLS 1
#endif

namespace support {

namespace {

// Plain values, since calls may come before any constructor of ours.
constinit thread_local bool counts = false;
constinit thread_local std::int64_t seen = 0, fails_at = -1;
constinit thread_local const char* failed_call = nullptr;

#if SOTTO_FAILS_CALLS
/// Whether a call is to fail now.
bool is_chosen(const char* name) noexcept {
    if (!counts || seen++ != fails_at) return false;
    failed_call = name;
    return true;
}
#endif

}  // namespace

const bool failing_calls::works = SOTTO_FAILS_CALLS != 0;

failing_calls::failing_calls(std::int64_t which) noexcept {
    seen = 0;
    fails_at = which;
    failed_call = nullptr;
    counts = true;
}

failing_calls::~failing_calls() {
    counts = false;
}

std::int64_t failing_calls::count() const noexcept {
    return seen;
}

const char* failing_calls::failed() const noexcept {
    return failed_call;
}

}  // namespace support

#if SOTTO_FAILS_CALLS

// A program's own functions go before those of the same name in the libraries that it is linked to.
// The sanitizers' are linked into it, under a second name.
extern "C" {
__attribute__((weak)) int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                       void* (*)(void*), void*);
__attribute__((weak)) int ___interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                        void* (*)(void*), void*);
}

namespace {

using support::is_chosen;

/// The call, or -1 with this error.
template <class... Arguments>
int call_or_fail(const char* name, int error, long number, Arguments... arguments) noexcept {
    if (is_chosen(name)) {
        errno = error;
        return -1;
    }
    return static_cast<int>(::syscall(number, arguments...));
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
    return call_or_fail("socket", EMFILE, SYS_socket, domain, type, protocol);
}

int accept4(int handle, sockaddr* at, socklen_t* size, int flags) {
    const int made = call_or_fail("accept4", EMFILE, SYS_accept4, handle, at, size, flags);
    // How often nobody has come depends on time: such calls are not counted.
    if (made < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && support::counts) --support::seen;
    return made;
}

int bind(int handle, const sockaddr* at, socklen_t size) noexcept {
    return call_or_fail("bind", ENOMEM, SYS_bind, handle, at, size);
}

int listen(int handle, int waiting) noexcept {
    return call_or_fail("listen", ENOBUFS, SYS_listen, handle, waiting);
}

int eventfd(unsigned count, int flags) noexcept {
    return call_or_fail("eventfd", EMFILE, SYS_eventfd2, count, flags);
}

int timerfd_create(clockid_t clock, int flags) noexcept {
    return call_or_fail("timerfd_create", EMFILE, SYS_timerfd_create, clock, flags);
}

int epoll_create1(int flags) noexcept {
    return call_or_fail("epoll_create1", EMFILE, SYS_epoll_create1, flags);
}

int epoll_ctl(int handle, int what, int which, epoll_event* event) noexcept {
    if (what != EPOLL_CTL_ADD)
        return static_cast<int>(::syscall(SYS_epoll_ctl, handle, what, which, event));
    return call_or_fail("epoll_ctl", ENOSPC, SYS_epoll_ctl, handle, what, which, event);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
    if (is_chosen("pthread_create")) return EAGAIN;
    if (___interceptor_pthread_create)
        return ___interceptor_pthread_create(thread, attributes, body, argument);
    if (__interceptor_pthread_create)
        return __interceptor_pthread_create(thread, attributes, body, argument);
    using create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto next = reinterpret_cast<create>(::dlsym(RTLD_NEXT, "pthread_create"));
    return next(thread, attributes, body, argument);
}

// The sanitizer of undefined behaviour asks a pipe whether memory may be read. Where no descriptor
// is left it has one beyond the limit; else it would report valid objects.
int pipe(int* ends) noexcept {
    rlimit own{};
    ::getrlimit(RLIMIT_NOFILE, &own);
    rlimit most = own;
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
    const auto made = static_cast<int>(::syscall(SYS_pipe2, ends, 0));
    ::setrlimit(RLIMIT_NOFILE, &own);
    return made;
}
}

#endif
