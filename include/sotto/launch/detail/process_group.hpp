#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/core/detail/files/read_text.hpp"
#include "sotto/launch/detail/job_mark.hpp"
#include "sotto/launch/detail/system_calls.hpp"

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
    default_child_signal() noexcept {
        struct sigaction action {};
        action.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &action, &before_);
    }
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
    process_group() : before_(children()) {
        pipe_ends life = open_pipe();
        leader_ = fork_deaf();
        if (leader_ == 0) lead(life.read.handle(), life.write.handle());
        if (leader_ < 0) refuse_by_system("the system starts no process");
        ::setpgid(leader_, leader_);  // as the leader does: whoever comes first
        life_ = std::move(life.write);
        ::prctl(PR_GET_CHILD_SUBREAPER, &inherited_before_);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    process_group(const process_group&) = delete;
    process_group& operator=(const process_group&) = delete;
    ~process_group() {
        if (owner_.is_this()) end();  // a child of fork() leaves them to its parent
    }

    const job_mark& mark() const noexcept { return mark_; }

    /// Starts a program, whose input is empty.
    ///   errors  invalid_option: it is no program; io_failure: it cannot be run, or the system has
    ///           no process or file left
    running_program start(const prepared_program& program, const sigset_t& mask) {
        const descriptor nothing = sotto::detail::open_file("/dev/null", O_RDONLY);
        if (!nothing) refuse_by_system("/dev/null cannot be opened");
        pipe_ends out = open_pipe(), err = open_pipe(), failure = open_pipe();
        const pid_t self = ::getpid();
        running_program made;
        made.id = fork_deaf();
        if (made.id == 0)
            become(program, mask, self, {nothing.handle(), out.write.handle(), err.write.handle()},
                   failure.write.handle());
        if (made.id < 0) refuse_by_system("the system starts no process");
        failure.write.close();
        int why = 0;
        if (read_whole(failure.read.handle(), why)) {
            const std::string text =
                "launch: '" + printable(program.path) + "' cannot be run: " + std::strerror(why);
            // Of these no attempt runs it.
            if (why == EACCES || why == ENOEXEC || why == ENOENT || why == EISDIR)
                throw invalid_option(text);
            throw io_failure(text);
        }
        descriptor end =
            above_standard(descriptor(static_cast<int>(::syscall(SYS_pidfd_open, made.id, 0))));
        if (!end) refuse_by_system("a process cannot be waited for (Linux 5.3 can)");
        for (const descriptor* const one : {&out.read, &err.read})
            ::fcntl(one->handle(), F_SETFL, O_NONBLOCK);
        made.out = std::move(out.read);
        made.err = std::move(err.read);
        made.end = end.handle();
        programs_.push_back({made.id, std::move(end)});
        return made;
    }

    /// To the group, and to those programs that have left it.
    void signal(int number) noexcept {
        if (leader_ <= 0) return;
        ::kill(-leader_, number);
        for (const started& one : programs_)
            if (::getpgid(one.id) != leader_) send(one, number);
    }

    /// Halts all of them until `go_on`, but not the leader: it must see the end of this process.
    void halt() noexcept {
        signal(SIGSTOP);
        if (leader_ > 0) ::kill(leader_, SIGCONT);
    }
    void go_on() noexcept { signal(SIGCONT); }

    /// Kills all, and returns when none is left.
    void end() noexcept {
        if (leader_ <= 0) return;
        ::kill(-leader_, SIGKILL);
        for (const started& one : programs_)
            if (send(one, SIGKILL)) wait(one.id);
        kill_marked([](std::span<const pid_t> killed) {
            // Who lost its parent is a child of this process by the time that parent can be waited
            // for: so again, until nobody was.
            for (bool any = true; std::exchange(any, false);)
                for (const pid_t id : killed) any = wait(id) || any;
        });
        // Of the inherited those that ended before, or were not seen between fork and exec.
        for (bool any = true; std::exchange(any, false);)
            for (const pid_t id : children_if_known())
                if (id != leader_ && std::find(before_.begin(), before_.end(), id) == before_.end())
                    any = (::kill(id, SIGKILL), wait(id)) || any;
        while (wait(-leader_)) {}
        leader_ = 0;
        life_.close();
        programs_.clear();
        ::prctl(PR_SET_CHILD_SUBREAPER, inherited_before_);
    }

private:
    struct started {
        pid_t id;
        descriptor end;
    };
    struct standard_files {
        int in, out, err;
    };

    /// Whether it was there, be it that nobody has waited for its end: its number is still its own.
    static bool send(const started& to, int number) noexcept {
        return ::syscall(SYS_pidfd_send_signal, to.end.handle(), number, nullptr, 0) == 0;
    }

    /// Those of this thread, to which the main one's inherited ones belong.
    static std::vector<pid_t> children() {
        std::error_code ignored;
        const std::string list = sotto::detail::read_text("/proc/thread-self/children", ignored);
        std::vector<pid_t> found;
        const char* const end = list.data() + list.size();
        for (const char* at = list.data(); at < end;) {
            pid_t number = 0;
            const auto [rest, why] = std::from_chars(at, end, number);
            if (why == std::errc()) found.push_back(number);
            at = std::find(rest, end, ' ') + 1;
        }
        return found;
    }
    static std::vector<pid_t> children_if_known() noexcept try {
        return children();
    } catch (...) {  // without memory none is known
        return {};
    }

    /// For the end of a child; false if there is none.
    static bool wait(pid_t which) noexcept {
        return uninterrupted([&] { return ::waitpid(which, nullptr, 0); }) > 0;
    }

    /// A fork whose child hears no signal, so that it never runs a handler of this program's.
    static pid_t fork_deaf() noexcept {
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        const pid_t id = ::fork();
        const int why = errno;
        if (id != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        errno = why;
        return id;
    }

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

    [[noreturn]] void lead(int life, int other_end) const noexcept {
        ::close(other_end);
        if (::setpgid(0, 0) != 0) ::_exit(127);
        char none = 0;
        (void)uninterrupted([&] { return ::read(life, &none, 1); });
        kill_marked([](std::span<const pid_t>) {});
        ::kill(-::getpid(), SIGKILL);
        ::_exit(0);
    }

    [[noreturn]] void become(const prepared_program& program, const sigset_t& mask, pid_t parent,
                             standard_files files, int failure) const noexcept {
        ::setpgid(0, leader_);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);  // it ended before it could be asked for
        const auto becomes = [](int file, int stream) {
            return uninterrupted([&] { return ::dup2(file, stream); }) == stream;
        };
        if (becomes(files.in, STDIN_FILENO) && becomes(files.out, STDOUT_FILENO) &&
            becomes(files.err, STDERR_FILENO)) {
            ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
            ::execve(program.path, program.arguments, program.variables);
        }
        const int why = errno;
        (void)uninterrupted([&] { return ::write(failure, &why, sizeof why); });
        ::_exit(127);
    }

    static bool read_whole(int from, int& value) noexcept {
        const ssize_t count = uninterrupted([&] { return ::read(from, &value, sizeof value); });
        return count == sizeof value;  // else it ended without: exec closed it
    }

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
