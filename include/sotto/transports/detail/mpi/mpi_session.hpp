#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <thread>

#include "sotto/core/detail/processes/owner_process.hpp"

namespace sotto::detail::mpi {

/// Throws what a call of MPI returned unless it went well.
void require_success(int code, const char* call);

/// Memory that MPI goes on using, since what was begun there may never be complete.
void keep(std::shared_ptr<void> used);

/// The first line of what the library calls itself.
std::string library_version();

/// That MPI is initialised. Who finds it so leaves it so; else the last of all that share this one
/// finalises it.
///   errors  error (invalid_option): MPI was finalised before, or does not allow what this thread
///           is about to do
class session {
public:
    static std::shared_ptr<session> enter();

    session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Something is under way that will never be complete: finalising could wait for ever.
    void spoil() noexcept { spoilt_ = true; }

    /// Throws unless MPI may be called by this thread, while it is by no other: from the main
    /// thread with MPI_THREAD_FUNNELED, from any with MPI_THREAD_SERIALIZED. `later`: than the
    /// first time.
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
