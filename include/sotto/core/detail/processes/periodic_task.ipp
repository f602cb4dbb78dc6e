#pragma once

#include "sotto/core/detail/processes/periodic_task.hpp"

#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/processes/thread.hpp"

namespace sotto::detail {

SOTTO_DECL periodic_task::periodic_task(const std::string& which, duration period,
                                        std::function<void()> task)
    : state_(std::make_unique<state>()) {
    (*state_)->task = std::move(task);
    (*state_)->thread = start_thread(which, [own = state_->get(), period] { own->run(period); });
}

SOTTO_DECL periodic_task::state::~state() {
    {
        const std::lock_guard lock(mutex);
        ends = true;
    }
    ended.notify_all();
    if (thread.joinable()) thread.join();
}

SOTTO_DECL void periodic_task::state::run(duration period) {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, period, [&] { return ends; })) {
        lock.unlock();
        task();
        lock.lock();
    }
}

}  // namespace sotto::detail
