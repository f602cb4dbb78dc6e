#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <span>
#include <vector>

#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/launch/detail/job_mark.hpp"

namespace sotto::detail::launch {

/// Arguments of exec, prepared before fork: between fork and exec no memory can be allocated.
struct prepared_program {
    const char* path;
    char* const* arguments;
    char* const* variables;
};

/// A running program. Its end can be polled for, and its output read.
struct running_program {
    pid_t id = 0;
    int end = -1;  // borrowed from the group that started it
    descriptor out, err;
};

/// While it lives, SIGCHLD has its default action: the exit status of each child waits until this
/// process requests it. If SIGCHLD is ignored, the system drops exit statuses; a handler of this
/// program or of a profiler may consume them. Started programs begin with the default action too.
class default_child_signal {
public:
    default_child_signal() noexcept;
    default_child_signal(const default_child_signal&) = delete;
    default_child_signal& operator=(const default_child_signal&) = delete;
    ~default_child_signal() { ::sigaction(SIGCHLD, &before_, nullptr); }

private:
    struct sigaction before_ {};
};

/// Programs that end at the latest with this object and with its process, as do all processes that
/// they start. Processes that move to their own process group are found by job_mark's variable,
/// which the programs must get.
///
/// A separate process leads the group. It only waits for the end of this process, of any kind, and
/// then kills the others. So the group has a member as long as this object lives, and its number
/// cannot be reused by other processes. The system also kills each program when the thread that
/// started it ends. This process becomes the one that inherits orphaned processes, so `end` can
/// wait for all of them.
class process_group {
public:
    process_group();
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;
    ~process_group();

    const job_mark& mark() const noexcept { return mark_; }

    /// Starts a program with empty input.
    ///   errors  invalid_option: it is no program; io_failure: it cannot be run, or the system has
    ///           no process or file left
    running_program start(const prepared_program& program, const sigset_t& mask);

    /// Sends a signal to the group, and to programs that have left it.
    void signal(int number) noexcept;

    /// Halts all processes until `resume`, except the leader: it must notice the end of this
    /// process.
    void halt() noexcept;
    void resume() noexcept { signal(SIGCONT); }

    /// Kills all processes, and returns when none is left.
    void end() noexcept;

private:
    struct started {
        pid_t id;
        descriptor end;
    };
    struct standard_files {
        int in, out, err;
    };

    /// Returns true if the process existed. An ended process exists until it is waited for, so its
    /// number is still its own.
    static bool send(const started& to, int number) noexcept;

    /// Children of this thread. Those of the main thread include inherited processes.
    static std::vector<pid_t> children();
    static std::vector<pid_t> children_if_known() noexcept try {
        return children();
    } catch (...) {  // without memory none is known
        return {};
    }

    /// Waits for the end of a child. Returns false if there is none.
    static bool wait(pid_t which) noexcept;

    /// Forks a child that blocks all signals, so it never runs a handler of this program.
    static pid_t fork_deaf() noexcept;

    // From here to the end of the class all is async-signal-safe: other threads of the forked
    // process may have held any lock.

    /// Kills marked processes until none is left, in at most 100 passes. Processes that fork faster
    /// than this remain.
    template <class Then>
    void kill_marked(Then then) const noexcept {
        std::array<pid_t, 256> room;
        for (int pass = 0; pass < 100; ++pass) {
            const std::span<const pid_t> found = mark_.find(room);
            if (found.empty()) return;
            for (const pid_t one : found) ::kill(one, SIGKILL);
            then(found);
        }
    }

    [[noreturn]] void lead(int life, int other_end) const noexcept;

    [[noreturn]] void become(const prepared_program& program, const sigset_t& mask, pid_t parent,
                             standard_files files, int failure) const noexcept;

    static bool read_whole(int from, int& value) noexcept;

    sotto::detail::owner_process owner_;
    default_child_signal statuses_;  // lives before the first child and after the last
    std::vector<pid_t> before_;      // children that are not its own
    job_mark mark_;
    pid_t leader_ = 0;
    std::vector<started> programs_;
    descriptor life_;
    int inherited_before_ = 0;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/process_group.ipp"
#endif
