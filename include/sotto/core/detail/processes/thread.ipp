#pragma once

#include "sotto/core/detail/processes/thread.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/read_text.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL std::string number_in(const std::string& path) {
    std::error_code ignored;
    const std::string text = read_text(path.c_str(), ignored);
    const std::size_t digits = (std::min)(text.find_first_not_of("0123456789"), text.size());
    const bool is_whole = text.find_first_not_of("\n", digits) == std::string::npos;
    return is_whole ? text.substr(0, digits) : std::string();
}

SOTTO_DECL std::string container_task_limit() {
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

SOTTO_DECL std::string thread_limits() {
    rlimit user{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_NPROC, &user);
    const std::string of_user =
        user.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(user.rlim_cur);
    const std::string of_container = container_task_limit();
    return "processes and threads of this user (ulimit -u) are limited to " + of_user +
           (of_container.empty() ? "" : ", those of this container (pids.max) to " + of_container);
}

SOTTO_DECL void refuse_thread(const std::string& which, const std::system_error& why) {
    std::string text = which + " cannot be started: " + why.code().message();
    if (why.code() == std::errc::resource_unavailable_try_again)
        text += "; " + thread_limits() +
                ": raise the limit that is reached, or start fewer processes. A stack that finds "
                "no memory (ulimit -v, ulimit -s) has the same effect";
    throw io_failure(text);
}

SOTTO_DECL blocked_signals::blocked_signals() noexcept {
    ::sigset_t most;
    ::sigfillset(&most);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        ::sigdelset(&most, fault);
    ::pthread_sigmask(SIG_BLOCK, &most, &before_);
}

}  // namespace sotto::detail
