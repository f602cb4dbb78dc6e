#pragma once

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/read_text.hpp"

namespace sotto::detail {

/// The number in a file of one number; empty if there is none, as where a limit is "max".
inline std::string number_in(const std::string& path) {
    std::error_code ignored;
    const std::string text = read_text(path.c_str(), ignored);
    const std::size_t digits = (std::min)(text.find_first_not_of("0123456789"), text.size());
    const bool is_whole = text.find_first_not_of("\n", digits) == std::string::npos;
    return is_whole ? text.substr(0, digits) : std::string();
}

/// The limit of tasks of the container or service that this process belongs to; empty if none.
inline std::string container_task_limit() {
    std::error_code ignored;
    const std::string groups = '\n' + read_text("/proc/self/cgroup", ignored);
    std::string group;
    if (const std::size_t at = groups.find("\n0::"); at != groups.npos)
        group = groups.substr(at + 4, groups.find('\n', at + 4) - at - 4);
    for (const std::string& path :
         {"/sys/fs/cgroup" + group + "/pids.max", std::string("/sys/fs/cgroup/pids.max"),
          std::string("/sys/fs/cgroup/pids/pids.max")})
        if (std::string limit = number_in(path); !limit.empty()) return limit;
    return {};
}

/// The limits that keep a process from starting a thread, with their values.
inline std::string thread_limits() {
    rlimit user{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_NPROC, &user);
    const std::string of_user =
        user.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(user.rlim_cur);
    const std::string of_container = container_task_limit();
    return "processes and threads of this user (ulimit -u) are limited to " + of_user +
           (of_container.empty() ? "" : ", those of this container (pids.max) to " + of_container);
}

/// Throws io_failure for a thread that the system refused: which, why, and the limits.
[[noreturn]] inline void refuse_thread(const std::string& which, const std::system_error& why) {
    std::string text = which + " cannot be started: " + why.code().message();
    if (why.code() == std::errc::resource_unavailable_try_again)
        text += "; " + thread_limits() +
                ": raise the limit that is reached, or start fewer processes. A stack that finds "
                "no memory (ulimit -v, ulimit -s) has the same effect";
    throw io_failure(text);
}

/// While it lives, the calling thread and threads that it starts handle no signals. Faults of a
/// thread itself, as SIGSEGV, stay that thread's.
class blocked_signals {
public:
    blocked_signals() noexcept {
        ::sigset_t most;
        ::sigfillset(&most);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
            ::sigdelset(&most, fault);
        ::pthread_sigmask(SIG_BLOCK, &most, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    ::sigset_t before_;
};

/// Starts a thread of type `Thread`, a std::thread or std::jthread, for code of the caller of
/// sotto. It handles signals as the calling thread does. `which` names it in errors.
///   errors  io_failure: the system refuses; names the thread and the limits
template <class Thread = std::thread, class Body>
Thread start_user_thread(const std::string& which, Body&& body) {
    try {
        return Thread(std::forward<Body>(body));
    } catch (const std::system_error& why) {
        refuse_thread(which, why);
    }
}

/// The same for a thread of sotto's own. It handles no signals from its first instruction on: a
/// handler of the program never runs in it.
template <class Thread = std::thread, class Body>
Thread start_thread(const std::string& which, Body&& body) {
    const blocked_signals blocked;
    return start_user_thread<Thread>(which, std::forward<Body>(body));
}

}  // namespace sotto::detail
