#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <string>

namespace sotto::launch {

/// How the process of a rank ended.
struct ending {
    int rank = 0;    // whose process it was
    int status = 0;  // as waitpid tells it

    /// Whether it ended otherwise than by status 0.
    bool failed() const noexcept { return status != 0; }
    /// Whether a signal ended it.
    bool by_signal() const noexcept { return WIFSIGNALED(status); }

    /// By its own decision, perhaps because of others: with a status or by std::abort.
    bool by_itself() const noexcept { return !by_signal() || WTERMSIG(status) == SIGABRT; }

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

}  // namespace sotto::launch
