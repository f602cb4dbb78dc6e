#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/detail/processes/thread.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::kernels {

inline namespace SOTTO_UNIT {

/// Threads that work together repeatedly. Between calls they spin for 200 us before they sleep, so
/// work in quick succession starts at once. Only one thread at a time may call `run`.
///   errors  invalid_option unless 1 <= threads <= 1024; io_failure: the system refuses a thread
class thread_team {
public:
    /// Creates a team of `threads` threads, the calling thread included.
    explicit thread_team(int threads) : size_(threads) {
        if (threads < 1 || threads > 1024)
            throw invalid_option("thread_team: threads is " + std::to_string(threads) +
                                 "; it must be from 1 to 1024");
        others_->reserve(static_cast<std::size_t>(threads - 1));
        try {
            for (int member = 1; member < threads; ++member)
                others_->push_back(sotto::detail::start_thread("thread_team: thread " +
                                                                   std::to_string(member) + " of " +
                                                                   std::to_string(threads),
                                                               [this, member] { serve(member); }));
        } catch (...) {
            stop();
            throw;
        }
    }

    /// Ends all other threads. In a child of fork() there are none.
    ~thread_team() {
        if (owner_.is_this()) stop();
    }
    thread_team(const thread_team&) = delete;
    thread_team& operator=(const thread_team&) = delete;

    /// Number of threads, the calling thread included.
    int size() const noexcept { return size_; }

    /// Calls work(member) for each member from 0 on at the same time, 0 in the calling thread, and
    /// returns when all are done. Throws an exception of a member.
    template <class Work>
    void run(const Work& work) {
        if (size_ == 1) return work(0);
        call_ = [](const void* what, int member) { (*static_cast<const Work*>(what))(member); };
        work_ = &work;
        left_.store(size_ - 1, std::memory_order_relaxed);
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
        attempt(0);
        for (int left = left_.load(std::memory_order_acquire); left > 0;
             left = left_.load(std::memory_order_acquire))
            wait(left_, left);
        if (failed_.load(std::memory_order_relaxed)) {
            failed_.store(false, std::memory_order_relaxed);
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

private:
    void serve(int member) {
        for (std::uint64_t seen = 0;;) {
            wait(round_, seen);
            seen = round_.load(std::memory_order_acquire);
            if (stopping_) return;
            attempt(member);
            if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
        }
    }

    void attempt(int member) noexcept {
        try {
            call_(work_, member);
        } catch (...) {
            if (!failed_.exchange(true, std::memory_order_relaxed))
                failure_ = std::current_exception();
        }
    }

    /// Waits until the value changes.
    template <class Value>
    static void wait(const std::atomic<Value>& value, std::type_identity_t<Value> old) noexcept {
        using clock = std::chrono::steady_clock;
        constexpr auto patience = std::chrono::microseconds(200);
        const auto start = clock::now();
        for (int look = 0; value.load(std::memory_order_acquire) == old; ++look) {
            if (look % 64 != 63) {
                pause();
                continue;
            }
            // Lets other threads on this processor run, and lets the system see two threads that it
            // can spread over processors.
            std::this_thread::yield();
            if (clock::now() - start > patience) return value.wait(old, std::memory_order_acquire);
        }
    }

    static void pause() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    void stop() noexcept {
        stopping_ = true;
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
        for (std::thread& other : *others_) other.join();
    }

    sotto::detail::owner_process owner_;
    int size_;
    sotto::detail::owned_by_process<std::vector<std::thread>> others_;
    void (*call_)(const void*, int) = nullptr;
    const void* work_ = nullptr;
    bool stopping_ = false;
    std::exception_ptr failure_;
    alignas(64) std::atomic<std::uint64_t> round_{0};
    alignas(64) std::atomic<int> left_{0};
    std::atomic<bool> failed_{false};
};

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels
