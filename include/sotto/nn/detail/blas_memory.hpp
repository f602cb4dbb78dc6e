#pragma once

#include <cstddef>
#include <shared_mutex>

// Null if the BLAS library is not OpenBLAS, which alone has these functions.
extern "C" [[gnu::weak]] void* blas_memory_alloc(int);
extern "C" [[gnu::weak]] void blas_memory_free(void*);

namespace sotto::detail::nn {

/// The buffers in which OpenBLAS multiplies, one for each thread that multiplies at the same time.
/// OpenBLAS allocates one on first use, keeps it, and retries without end if the system refuses. If
/// address space is limited, this class allocates the buffers in advance, so a refusal is an error.
class blas_memory {
public:
    /// Calls of the system and of OpenBLAS, replaced in tests.
    struct calls {
        bool (*is_limited)();             // true if the system may refuse address space
        bool (*fits)(std::size_t bytes);  // true if that much is free
        void* (*take)();                  // returns a free buffer, or a new one
        void (*give_back)(void* buffer);
        void (*refused)();  // last call before the error
    };

    /// On x86-64 and AArch64. Older versions and other processors need a quarter of it.
    static constexpr std::size_t buffer_bytes = std::size_t{128} << 20;

    explicit blas_memory(const calls& made_by) : calls_(made_by), limited_(made_by.is_limited()) {}

    /// While a turn exists, its thread may multiply.
    using turn = std::shared_lock<std::shared_mutex>;

    bool is_limited() const noexcept { return limited_; }
    turn begin() { return turn(multiplying_); }

    /// Adds a thread that multiplies from now on.
    ///   errors  io_failure: there is no address space for its buffer
    void add_thread();

    /// Removes a thread that ends.
    void remove_thread() noexcept;

private:
    [[noreturn]] void refuse();

    calls calls_;
    bool limited_;
    std::shared_mutex multiplying_;  // shared by threads that multiply
    std::size_t threads_ = 0;        // threads that have multiplied and not ended
    std::size_t buffers_ = 0;        // buffers that OpenBLAS has
};

bool is_address_space_limited();

bool has_address_space(std::size_t bytes);

/// Makes the process exit without waiting for OpenBLAS's threads. OpenBLAS starts them before main
/// and waits for them at exit; a thread without a buffer would retry without end. Exit handlers and
/// destructors of static objects registered before this call then do not run. Their output is lost,
/// except for C streams.
void exit_without_openblas();

blas_memory& blas_memory_of_process();

/// Must be called before a BLAS call; the returned turn must exist during that call.
///   cost    one comparison if address space is not limited
///   errors  io_failure: there is no address space for OpenBLAS
blas_memory::turn require_blas_memory();

}  // namespace sotto::detail::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/detail/blas_memory.ipp"
#endif
