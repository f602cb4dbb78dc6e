#include "sotto/core/detail/processes/thread.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <string>
#include <thread>

#include "sotto/core/errors.hpp"
#include "support/failing_calls.hpp"

using namespace sotto;

namespace {

std::string text_without_threads() {
    const support::failing_calls none(0);
    try {
        detail::start_thread<std::jthread>("a test: its thread", [] {});
    } catch (const io_failure& e) {
        return e.what();
    }
    return "started";
}

bool handles(int signal) {
    ::sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return ::sigismember(&blocked, signal) == 0;
}

}  // namespace

TEST_CASE("start_thread: the system has a thread -> it runs") {
    bool ran = false;
    detail::start_thread("a test: its thread", [&] { ran = true; }).join();
    CHECK(ran);
}

TEST_CASE("start_thread: from its start -> the thread handles no signals but faults") {
    bool handled = true, handles_faults = false;
    detail::start_thread("a test: its thread", [&] {
        handled = handles(SIGTERM) || handles(SIGINT) || handles(SIGUSR1);
        handles_faults = handles(SIGSEGV) && handles(SIGBUS) && handles(SIGFPE);
    }).join();
    CHECK_FALSE(handled);
    CHECK(handles_faults);
    CHECK(handles(SIGTERM));  // the calling thread, as before
    if (!support::failing_calls::works) return;
    CHECK(text_without_threads() != "started");
    CHECK(handles(SIGTERM));
}

TEST_CASE("start_user_thread: code of the caller -> signals as in the calling thread") {
    bool handles_one = false;
    detail::start_user_thread("a test: its thread", [&] { handles_one = handles(SIGTERM); }).join();
    CHECK(handles_one);
}

TEST_CASE("start_thread: no thread left -> the error names it and the limits") {
    if (!support::failing_calls::works) return;
    rlimit most{};
    REQUIRE(::getrlimit(RLIMIT_NPROC, &most) == 0);
    rlimit fewer = most;
    fewer.rlim_cur = 4711 < most.rlim_max ? 4711 : most.rlim_max;
    REQUIRE(::setrlimit(RLIMIT_NPROC, &fewer) == 0);
    const std::string limited = text_without_threads();
    CAPTURE(limited);
    CHECK(limited.starts_with(
        "a test: its thread cannot be started: Resource temporarily unavailable; processes and "
        "threads of this user (ulimit -u) are limited to " +
        std::to_string(fewer.rlim_cur)));
    ::setrlimit(RLIMIT_NPROC, &most);
    if (most.rlim_cur == RLIM_INFINITY)
        CHECK(text_without_threads().find("limited to unlimited") != std::string::npos);
}
