#include "sotto/core/detail/processes/periodic_task.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include <pthread.h>

using namespace std::chrono_literals;
using sotto::detail::periodic_task;

TEST_CASE("periodic_task: while it lives -> its task is called again and again, in its thread") {
    std::atomic<int> calls = 0;
    std::atomic<bool> is_here = false, hears_signals = false;
    const ::pthread_t here = ::pthread_self();
    {
        const periodic_task task("a test", 1ms, [&] {
            is_here = is_here || ::pthread_equal(here, ::pthread_self()) != 0;
            ::sigset_t blocked;
            ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
            hears_signals = hears_signals || ::sigismember(&blocked, SIGTERM) != 1;
            ++calls;
            calls.notify_all();
        });
        for (int before = 0; before < 3; before = calls) calls.wait(before);
    }
    CHECK_FALSE(is_here);
    CHECK_FALSE(hears_signals);
    const int ended = calls;
    CHECK(ended >= 3);
    {
        const periodic_task never("a test", 24h, [&] { ++calls; });  // its end waits for no period
    }
    CHECK(calls == ended);
}

TEST_CASE("periodic_task: in a child of fork() -> its end waits for no thread") {
    auto task = std::make_unique<periodic_task>("a test", 24h, [] {});
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        task.reset();
        ::_exit(0);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
