#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"

namespace sotto::detail {

/// Calls a task once a period, in its own thread, which handles no signals. The first call is one
/// period after the start.
///   cost    a thread and one wake-up a period
///   errors  io_failure: the thread cannot be started
class periodic_task {
public:
    /// `which` names the thread in errors. The task must not throw.
    periodic_task(const std::string& which, duration period, std::function<void()> task);
    periodic_task(const periodic_task&) = delete;
    periodic_task& operator=(const periodic_task&) = delete;
    /// Waits for a call that has begun. Does nothing in a child of fork(), which does not have the
    /// thread.
    ~periodic_task() = default;

private:
    struct state {
        ~state();

        void run(duration period);

        std::function<void()> task;
        std::mutex mutex;
        std::condition_variable ended;
        bool ends = false;
        std::thread thread;
    };

    owned_by_process<std::unique_ptr<state>> state_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/periodic_task.ipp"
#endif
