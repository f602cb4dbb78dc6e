#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <thread>

#include "sotto/core/detail/processes/owner_process.hpp"

namespace sotto::detail::mpi {

/// Throws io_failure unless a call of MPI succeeded.
void require_success(int code, const char* call);

/// Keeps memory that MPI still uses, because its operation may never be complete.
void keep(std::shared_ptr<void> used);

/// First line of the library's version text.
std::string library_version();

/// Keeps MPI initialised. If the program initialised MPI, it stays initialised. Otherwise the last
/// owner of the shared session finalises it.
///   errors  error (invalid_option): MPI was finalised before, or does not allow what this thread
///           is about to do
class session {
public:
    static std::shared_ptr<session> enter();

    session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Prevents finalising, which could block forever: an operation in flight will never be
    /// complete.
    void spoil() noexcept { spoilt_ = true; }

    /// Throws unless this thread may call MPI while no other does: from the main thread with
    /// MPI_THREAD_FUNNELED, from any with MPI_THREAD_SERIALIZED. `later`: not the first call.
    void require_caller(bool later = true) const;

private:
    static std::string name_of(int level);

    owner_process owner_;
    bool own_ = false;
    bool spoilt_ = false;
    int provided_ = MPI_THREAD_SINGLE;
    std::thread::id main_{};
};

}  // namespace sotto::detail::mpi

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/mpi/mpi_session.ipp"
#endif
