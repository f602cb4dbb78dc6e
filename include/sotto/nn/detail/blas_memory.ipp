#pragma once

#include "sotto/nn/detail/blas_memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/read_text.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::nn {

SOTTO_DECL void blas_memory::add_thread() {
    const std::unique_lock none_multiplies(multiplying_);
    if (++threads_ <= buffers_) return;
    // Takes all existing buffers at the same time, so that the last call gets a new one.
    std::vector<void*> taken;
    taken.reserve(threads_);
    for (std::size_t i = 0; i < buffers_; ++i) taken.push_back(calls_.take());
    const bool fits = calls_.fits(buffer_bytes);
    if (fits) taken.push_back(calls_.take());
    for (void* const buffer : taken) calls_.give_back(buffer);
    if (!fits) refuse();
    buffers_ = threads_;
}

SOTTO_DECL void blas_memory::remove_thread() noexcept {
    const std::unique_lock none_multiplies(multiplying_);
    --threads_;
}

SOTTO_DECL void blas_memory::refuse() {
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

SOTTO_DECL bool is_address_space_limited() {
    if (blas_memory_alloc == nullptr || blas_memory_free == nullptr) return false;
    rlimit space{RLIM_INFINITY, RLIM_INFINITY};
    if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) return true;
    std::error_code ignored;
    constexpr const char* mode = "/proc/sys/vm/overcommit_memory";
    return sotto::detail::read_text(mode, ignored).starts_with('2');  // commits are limited
}

SOTTO_DECL bool has_address_space(std::size_t bytes) {
    void* const found =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return false;
    ::munmap(found, bytes);
    return true;
}

SOTTO_DECL void exit_without_openblas() {
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

SOTTO_DECL blas_memory& blas_memory_of_process() {
    static blas_memory all({is_address_space_limited, has_address_space,
                            [] { return blas_memory_alloc(0); },
                            [](void* buffer) { blas_memory_free(buffer); }, exit_without_openblas});
    return all;
}

SOTTO_DECL blas_memory::turn require_blas_memory() {
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
