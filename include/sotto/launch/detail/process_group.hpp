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

/// What is run, prepared: between fork and exec there is no memory to be had.
struct prepared_program {
    const char* path;
    char* const* arguments;
    char* const* variables;
};

/// A program that runs: whether it has ended can be polled for, and what it says read.
struct running_program {
    pid_t id = 0;
    int end = -1;  // of the group that it was started by
    descriptor out, err;
};

/// While it lives, SIGCHLD has its default action: the exit status of each child waits until this
/// process asks for it. If SIGCHLD is ignored, the system drops exit statuses; a handler of this
/// program or of a profiler may take them. Programs that are started begin with the default too.
class default_child_signal {
public:
    default_child_signal() noexcept;
    default_child_signal(const default_child_signal&) = delete;
    default_child_signal& operator=(const default_child_signal&) = delete;
    ~default_child_signal() { ::sigaction(SIGCHLD, &before_, nullptr); }

private:
    struct sigaction before_ {};
};

/// Programs that live no longer than this object, nor than its process; nor do those that they
/// start. Those that move to a process group of their own are known by job_mark's variable, which
/// the programs are to be given.
///
/// A process of its own leads the group and does nothing but wait for the end of this one, however
/// that comes, to kill the others. So the group has a member as long as this object lives, and its
/// number cannot come to mean strangers. Each program is also killed by the system when the thread
/// that started it ends. This process is made the one that inherits what a program leaves behind,
/// so that `end` can wait for all of it.
class process_group {
public:
    process_group();
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;
    ~process_group();

    const job_mark& mark() const noexcept { return mark_; }

    /// Starts a program, whose input is empty.
    ///   errors  invalid_option: it is no program; io_failure: it cannot be run, or the system has
    ///           no process or file left
    running_program start(const prepared_program& program, const sigset_t& mask);

    /// To the group, and to those programs that have left it.
    void signal(int number) noexcept;

    /// Halts all of them until `resume`, but not the leader: it must see the end of this process.
    void halt() noexcept;
    void resume() noexcept { signal(SIGCONT); }

    /// Kills all, and returns when none is left.
    void end() noexcept;

private:
    struct started {
        pid_t id;
        descriptor end;
    };
    struct standard_files {
        int in, out, err;
    };

    /// Whether it was there, be it that nobody has waited for its end: its number is still its own.
    static bool send(const started& to, int number) noexcept;

    /// Those of this thread, to which the main one's inherited ones belong.
    static std::vector<pid_t> children();
    static std::vector<pid_t> children_if_known() noexcept try {
        return children();
    } catch (...) {  // without memory none is known
        return {};
    }

    /// For the end of a child; false if there is none.
    static bool wait(pid_t which) noexcept;

    /// A fork whose child hears no signal, so that it never runs a handler of this program's.
    static pid_t fork_deaf() noexcept;

    // From here to the end of the class all is async-signal-safe: other threads of the process that
    // was forked may have held any lock.

    /// Until there are none; what forks faster than it can be found is given up.
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
    default_child_signal statuses_;  // before the first child, and after the last
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
