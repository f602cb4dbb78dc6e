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

/// Code that has a stack of its own and runs only when it has the turn: one fiber has it at a
/// time, and gives it away by name. One that was not started is whoever gives a turn away first.
///
/// Strands are contexts of one thread. So what is thread_local is theirs together; the exceptions
/// that each has caught are its own.
///   memory  8 MiB of addresses for a stack, and what of it is used
///   cost    0.3 us to give the turn away, and what the caches have to fetch then
///   errors  std::bad_alloc: no room for a stack
class fiber {
public:
    fiber() = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;
    ~fiber() {
        if (stack_ != nullptr) ::munmap(stack_, stack_bytes);
    }

    /// `body` runs once it has the turn, and returns who has it next. It throws nothing.
    void start(std::function<fiber*()> body) {
        body_ = std::move(body);
        void* const taken = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (taken == MAP_FAILED) throw std::bad_alloc();
        stack_ = taken;
        // Whoever runs out of it is stopped; and a large page for each would be too much.
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

    /// Whether whoever asks is one that was started, so that others of its thread may have the turn
    /// in between: what is not to be entered twice by a thread must be left before.
    static bool is_here() noexcept { return here_; }

    /// Gives the turn away, and returns when it has it again.
    void give_to(fiber& next) noexcept {
        here_ = next.stack_ != nullptr;
        caught_.save();
        next.caught_.restore();
        ::swapcontext(&context_, &next.context_);
    }

private:
    static constexpr std::size_t stack_bytes = std::size_t{8} << 20;

    /// What the runtime of C++ knows of a thread's exceptions, by the ABI that all compilers for
    /// Linux share: the ones caught, and how many are under way.
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

/// The same, where it takes a thread for each.
///   cost    5 us to give the turn away
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

    static bool is_here() noexcept { return false; }  // a thread of its own

    void give_to(fiber& next) noexcept {
        next.turn_.release();
        turn_.acquire();
    }

private:
    std::binary_semaphore turn_{0};
    std::jthread thread_;  // last: it ends before the rest goes
};

#endif

}  // namespace sotto::detail::simulation
