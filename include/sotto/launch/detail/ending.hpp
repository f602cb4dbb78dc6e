#pragma once

#include <sys/wait.h>

#include <csignal>
#include <string>

namespace sotto::detail::launch {

/// How the process of a rank ended.
struct ending {
    int rank = 0;    // rank of the process
    int status = 0;  // status from waitpid

    /// True if the status is not 0.
    bool failed() const noexcept { return status != 0; }
    /// True if the rank finished its work and only its output is incomplete.
    bool lacks_output() const noexcept;
    /// True if a signal ended it.
    bool by_signal() const noexcept { return WIFSIGNALED(status); }

    /// True if the process ended itself, with a status or by std::abort, perhaps because of other
    /// ranks.
    bool by_itself() const noexcept { return !by_signal() || WTERMSIG(status) == SIGABRT; }

    /// How likely this rank caused the end of the job if several failed. It is 0 if its exit code
    /// means that it ended because of another rank, 2 if a signal ended it, else 1.
    int certainty() const noexcept;

    /// Exit status as a shell computes it: 128 plus the signal's number if a signal ended it.
    int exit_status() const noexcept;

    /// "rank 2 was ended by signal 9 (Killed)"
    std::string text() const;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/ending.ipp"
#endif
