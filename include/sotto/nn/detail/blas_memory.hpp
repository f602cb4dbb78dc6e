#pragma once

#include <cstddef>
#include <shared_mutex>

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
    void add_thread();

    /// A thread ends.
    void remove_thread() noexcept;

private:
    [[noreturn]] void refuse();

    calls calls_;
    bool limited_;
    std::shared_mutex multiplying_;  // shared by threads that multiply
    std::size_t threads_ = 0;        // that have multiplied and not ended
    std::size_t buffers_ = 0;        // that OpenBLAS has
};

bool is_address_space_limited();

bool has_address_space(std::size_t bytes);

/// OpenBLAS starts threads before main, and waits for them at the exit of the process. If one of
/// them found no buffer either, it tries for ever: the process is then to exit without that wait.
/// Exit handlers and destructors of static objects that were registered before this call do not run
/// then. Their output is lost, except that of C streams.
void exit_without_openblas();

blas_memory& blas_memory_of_process();

/// Before a call of BLAS: holds what is returned meanwhile.
///   cost    one comparison, where address space is not limited
///   errors  io_failure: there is none for OpenBLAS
blas_memory::turn require_blas_memory();

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/blas_memory.ipp"
#endif
