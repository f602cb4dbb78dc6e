#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string>

#include "sotto/core/exit_code.hpp"

namespace sotto::detail::launch {

/// How the process of a rank ended.
struct ending {
    int rank = 0;    // whose process it was
    int status = 0;  // as waitpid tells it

    /// Whether it ended otherwise than by status 0.
    bool failed() const noexcept { return status != 0; }
    /// Whether its work is done, and only its output lacks something.
    bool lacks_output() const noexcept {
        return !by_signal() && exit_status() == static_cast<int>(exit_code::output_incomplete);
    }
    /// Whether a signal ended it.
    bool by_signal() const noexcept { return WIFSIGNALED(status); }

    /// By its own decision, perhaps because of others: with a status or by std::abort.
    bool by_itself() const noexcept { return !by_signal() || WTERMSIG(status) == SIGABRT; }

    /// How likely the rank is the cause of a job's end, if several failed: 0 if its exit code says
    /// that it ended because of another rank, 2 if a signal ended it, else 1.
    int certainty() const noexcept {
        if (!by_itself()) return 2;
        return !by_signal() && exit_status() == static_cast<int>(exit_code::peer) ? 0 : 1;
    }

    /// What a shell makes of it: 128 and the signal's number, where a signal ended it.
    int exit_status() const noexcept {
        return by_signal() ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    /// "rank 2 was ended by signal 9 (Killed)"
    std::string text() const {
        const std::string who = "rank " + std::to_string(rank);
        if (!by_signal()) return who + " ended with exit status " + std::to_string(exit_status());
        return who + " was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
               ::strsignal(WTERMSIG(status)) + ")";
    }
};

}  // namespace sotto::detail::launch
