#pragma once

#include "sotto/core/config.hpp"

#if defined(SOTTO_CONTEXTS)
#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <new>
#else
#include <semaphore>
#include <thread>

#include "sotto/core/detail/processes/thread.hpp"
#endif

#include <cstddef>
#include <functional>
#include <utility>

namespace sotto::detail::simulation {

#if defined(SOTTO_CONTEXTS)

/// Code with its own stack that runs only when it has the turn. One fiber has the turn at a time,
/// and passes it to another by name. A fiber that was not started stands for the caller of the
/// first give_to.
///
/// Fibers are contexts of one thread. So they share thread_local data, but each has its own caught
/// exceptions.
///   memory  8 MiB of addresses for a stack, and the part of it that is used
///   cost    0.3 us to pass the turn, and the cache misses that follow
///   errors  std::bad_alloc: no room for a stack
class fiber {
public:
    fiber() = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;
    ~fiber() {
        if (stack_ != nullptr) ::munmap(stack_, stack_bytes);
    }

    /// `body` runs once the fiber has the turn, and returns the fiber that gets it next. It must
    /// not throw.
    void start(std::function<fiber*()> body) {
        body_ = std::move(body);
        void* const taken = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (taken == MAP_FAILED) throw std::bad_alloc();
        stack_ = taken;
        // A guard page stops an overflow. A large page for each stack would be too much.
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        if (::mprotect(stack_, page, PROT_NONE) != 0) throw std::bad_alloc();
        ::madvise(stack_, stack_bytes, MADV_NOHUGEPAGE);
        ::getcontext(&context_);
        context_.uc_stack.ss_sp = stack_;
        context_.uc_stack.ss_size = stack_bytes;
        context_.uc_link = nullptr;
        const auto self = reinterpret_cast<std::uintptr_t>(this);
        ::makecontext(&context_, reinterpret_cast<void (*)()>(&fiber::enter), 2,
                      static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    }

    /// True if the caller is a started fiber. Other fibers of its thread may then run in between,
    /// so it must first leave code that a thread must not enter twice.
    static bool is_here() noexcept { return here_; }

    /// Passes the turn, and returns when this fiber has it again.
    void give_to(fiber& next) noexcept {
        here_ = next.stack_ != nullptr;
        caught_.save();
        next.caught_.restore();
        ::swapcontext(&context_, &next.context_);
    }

private:
    static constexpr std::size_t stack_bytes = std::size_t{8} << 20;

    /// State of a thread's exceptions in the C++ runtime, by the ABI that all compilers for Linux
    /// share: the caught ones, and the number in flight.
    class exceptions {
    public:
        void save() noexcept { std::memcpy(kept_, known(), sizeof kept_); }
        void restore() const noexcept { std::memcpy(known(), kept_, sizeof kept_); }

    private:
        static void* known() noexcept { return abi::__cxa_get_globals(); }

        struct layout {
            void* caught;
            unsigned in_flight;
        };
        std::byte kept_[sizeof(layout)] = {};  // none
    };

    static void enter(unsigned high, unsigned low) noexcept {
        const auto self = static_cast<std::uintptr_t>(high) << 32 | low;
        auto& own = *reinterpret_cast<fiber*>(self);
        own.give_to(*own.body_());
    }

    static inline thread_local bool here_ = false;

    ucontext_t context_{};
    void* stack_ = nullptr;
    std::function<fiber*()> body_;
    exceptions caught_;
};

#else

/// The same with a thread for each fiber, for systems without contexts.
///   cost    5 us to pass the turn
class fiber {
public:
    fiber() = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    void start(std::function<fiber*()> body) {
        thread_ = sotto::detail::start_user_thread<std::jthread>("simulated: the thread of a rank",
                                                                 [this, run = std::move(body)] {
                                                                     turn_.acquire();
                                                                     run()->turn_.release();
                                                                 });
    }

    static bool is_here() noexcept { return false; }  // each has its own thread

    void give_to(fiber& next) noexcept {
        next.turn_.release();
        turn_.acquire();
    }

private:
    std::binary_semaphore turn_{0};
    std::jthread thread_;  // last: it ends before the other members are destroyed
};

#endif

}  // namespace sotto::detail::simulation
