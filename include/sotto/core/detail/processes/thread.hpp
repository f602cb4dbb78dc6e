#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace sotto::detail {

/// The number in a file of one number; empty if there is none, as where a limit is "max".
std::string number_in(const std::string& path);

/// The limit of tasks of the container or service that this process belongs to; empty if none.
std::string container_task_limit();

/// The limits that keep a process from starting a thread, with their values.
std::string thread_limits();

/// Throws io_failure for a thread that the system refused: which, why, and the limits.
[[noreturn]] void refuse_thread(const std::string& which, const std::system_error& why);

/// While it lives, the calling thread and threads that it starts handle no signals. Faults of a
/// thread itself, as SIGSEGV, stay that thread's.
class blocked_signals {
public:
    blocked_signals() noexcept;
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

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/thread.ipp"
#endif
