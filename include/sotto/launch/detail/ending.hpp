#pragma once

#include <sys/wait.h>

#include <csignal>
#include <string>

namespace sotto::detail::launch {

/// How the process of a rank ended.
struct ending {
    int rank = 0;    // whose process it was
    int status = 0;  // as waitpid tells it

    /// Whether it ended otherwise than by status 0.
    bool failed() const noexcept { return status != 0; }
    /// Whether its work is done, and only its output lacks something.
    bool lacks_output() const noexcept;
    /// Whether a signal ended it.
    bool by_signal() const noexcept { return WIFSIGNALED(status); }

    /// By its own decision, perhaps because of others: with a status or by std::abort.
    bool by_itself() const noexcept { return !by_signal() || WTERMSIG(status) == SIGABRT; }

    /// How likely the rank is the cause of a job's end, if several failed: 0 if its exit code says
    /// that it ended because of another rank, 2 if a signal ended it, else 1.
    int certainty() const noexcept;

    /// What a shell makes of it: 128 and the signal's number, where a signal ended it.
    int exit_status() const noexcept;

    /// "rank 2 was ended by signal 9 (Killed)"
    std::string text() const;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/ending.ipp"
#endif
