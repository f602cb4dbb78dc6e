#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/read_text.hpp"

// OpenBLAS has these functions, other BLAS libraries have not: then their address is null.
extern "C" [[gnu::weak]] void* blas_memory_alloc(int);
extern "C" [[gnu::weak]] void blas_memory_free(void*);

namespace sotto::detail::nn {

/// The buffers in which OpenBLAS multiplies, one for each thread that multiplies at the same time.
/// OpenBLAS takes one when it is first needed, keeps it, and repeats a call that the system refuses
/// without end. Where address space is limited, this takes the buffers before they are needed, so
/// that the first refusal is an error.
class blas_memory {
public:
    /// What the system and OpenBLAS do; a test has others.
    struct calls {
        bool (*is_limited)();             // whether the system may refuse address space
        bool (*fits)(std::size_t bytes);  // whether it has so much
        void* (*take)();                  // a free buffer, or a new one
        void (*give_back)(void* buffer);
        void (*refused)();  // the last call before the error
    };

    /// Of x86-64 and AArch64. Older versions and other processors need a quarter of it.
    static constexpr std::size_t buffer_bytes = std::size_t{128} << 20;

    explicit blas_memory(const calls& made_by) : calls_(made_by), limited_(made_by.is_limited()) {}

    /// While one lives, its thread may multiply.
    using turn = std::shared_lock<std::shared_mutex>;

    bool is_limited() const noexcept { return limited_; }
    turn begin() { return turn(multiplying_); }

    /// One more thread multiplies from now on.
    ///   errors  io_failure: there is no address space for its buffer
    void add_thread() {
        const std::unique_lock none_multiplies(multiplying_);
        if (++threads_ <= buffers_) return;
        // The first free buffers are taken first: so many at once are so many different ones.
        std::vector<void*> taken;
        taken.reserve(threads_);
        for (std::size_t i = 0; i < buffers_; ++i) taken.push_back(calls_.take());
        const bool fits = calls_.fits(buffer_bytes);
        if (fits) taken.push_back(calls_.take());
        for (void* const buffer : taken) calls_.give_back(buffer);
        if (!fits) refuse();
        buffers_ = threads_;
    }

    /// A thread ends.
    void remove_thread() noexcept {
        const std::unique_lock none_multiplies(multiplying_);
        --threads_;
    }

private:
    [[noreturn]] void refuse() {
        const std::size_t number = threads_--;
        rlimit space{RLIM_INFINITY, RLIM_INFINITY};
        ::getrlimit(RLIMIT_AS, &space);
        calls_.refused();
        throw io_failure(
            "multiply: the system refuses 128 MiB of address space, which OpenBLAS needs for "
            "thread " +
            std::to_string(number) + " of this process that multiplies; " +
            (space.rlim_cur == RLIM_INFINITY
                 ? "memory is not overcommitted (vm.overcommit_memory)"
                 : "its limit (ulimit -v) is " + std::to_string(space.rlim_cur >> 20) + " MiB") +
            ": raise the limit, set OPENBLAS_NUM_THREADS=1, or start fewer ranks in a process");
    }

    calls calls_;
    bool limited_;
    std::shared_mutex multiplying_;  // shared by threads that multiply
    std::size_t threads_ = 0;        // that have multiplied and not ended
    std::size_t buffers_ = 0;        // that OpenBLAS has
};

inline bool is_address_space_limited() {
    if (blas_memory_alloc == nullptr || blas_memory_free == nullptr) return false;
    rlimit space{RLIM_INFINITY, RLIM_INFINITY};
    if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) return true;
    std::error_code ignored;
    constexpr const char* mode = "/proc/sys/vm/overcommit_memory";
    return sotto::detail::read_text(mode, ignored).starts_with('2');  // what is promised is limited
}

inline bool has_address_space(std::size_t bytes) {
    void* const found =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return false;
    ::munmap(found, bytes);
    return true;
}

/// OpenBLAS starts threads before main, and waits for them at the exit of the process. If one of
/// them found no buffer either, it tries for ever: the process is then to exit without that wait.
/// Exit handlers and destructors of static objects that were registered before this call do not run
/// then. Their output is lost, except that of C streams.
inline void exit_without_openblas() {
#if defined(__GLIBC__)
    const char* const threads = std::getenv("OPENBLAS_NUM_THREADS");
    static const bool registered = threads == nullptr || std::string(threads) != "1"
                                       ? ::on_exit(
                                             [](int status, void*) {
                                                 std::fflush(nullptr);
                                                 ::_exit(status);
                                             },
                                             nullptr) == 0
                                       : false;
    (void)registered;
#endif
}

inline blas_memory& blas_memory_of_process() {
    static blas_memory all({is_address_space_limited, has_address_space,
                            [] { return blas_memory_alloc(0); },
                            [](void* buffer) { blas_memory_free(buffer); }, exit_without_openblas});
    return all;
}

/// Before a call of BLAS: holds what is returned meanwhile.
///   cost    one comparison, where address space is not limited
///   errors  io_failure: there is none for OpenBLAS
inline blas_memory::turn require_blas_memory() {
    static blas_memory& all = blas_memory_of_process();
    if (!all.is_limited()) return {};
    struct member {
        member() { all.add_thread(); }
        ~member() { all.remove_thread(); }
    };
    static thread_local const member this_thread;
    return all.begin();
}

}  // namespace sotto::detail::nn
