#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace sotto::detail {

/// Returns the number in a file that holds only a number; empty otherwise, such as for the limit
/// "max".
std::string number_in(const std::string& path);

/// Returns the task limit of this process's container or service; empty if there is none.
std::string container_task_limit();

/// Returns the limits that can prevent a new thread, with their values, as text.
std::string thread_limits();

/// Throws io_failure for a thread that the system refused. The text names the thread, the reason
/// and the limits.
[[noreturn]] void refuse_thread(const std::string& which, const std::system_error& why);

/// Blocks all signals in the calling thread, and in threads that it starts, during its lifetime.
/// Faults of a thread, such as SIGSEGV, are not blocked.
class blocked_signals {
public:
    blocked_signals() noexcept;
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    ::sigset_t before_;
};

/// Starts a std::thread or std::jthread that runs code of the user of sotto. It handles signals
/// like the calling thread. `which` names it in errors.
///   errors  io_failure: the system refuses; the text names the thread and the limits
template <class Thread = std::thread, class Body>
Thread start_user_thread(const std::string& which, Body&& body) {
    try {
        return Thread(std::forward<Body>(body));
    } catch (const std::system_error& why) {
        refuse_thread(which, why);
    }
}

/// Same for a thread of sotto. It blocks signals from its first instruction on, so that no signal
/// handler of the program runs in it.
template <class Thread = std::thread, class Body>
Thread start_thread(const std::string& which, Body&& body) {
    const blocked_signals blocked;
    return start_user_thread<Thread>(which, std::forward<Body>(body));
}

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/thread.ipp"
#endif
