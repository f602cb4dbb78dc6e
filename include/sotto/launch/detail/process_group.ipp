#pragma once

#include "sotto/launch/detail/process_group.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/read_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL default_child_signal::default_child_signal() noexcept {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, &before_);
}

SOTTO_DECL process_group::process_group() : before_(children()) {
    pipe_ends life = open_pipe();
    leader_ = fork_deaf();
    if (leader_ == 0) lead(life.read.handle(), life.write.handle());
    if (leader_ < 0) refuse_by_system("the system starts no process");
    ::setpgid(leader_, leader_);  // as in the leader: either of them may be first
    life_ = std::move(life.write);
    ::prctl(PR_GET_CHILD_SUBREAPER, &inherited_before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

SOTTO_DECL process_group::~process_group() {
    if (owner_.is_this()) end();  // a child of fork() leaves them to its parent
}

SOTTO_DECL running_program process_group::start(const prepared_program& program,
                                                const sigset_t& mask) {
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
        // For these causes no attempt can run it.
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

SOTTO_DECL void process_group::signal(int number) noexcept {
    if (leader_ <= 0) return;
    ::kill(-leader_, number);
    for (const started& one : programs_)
        if (::getpgid(one.id) != leader_) send(one, number);
}

SOTTO_DECL void process_group::halt() noexcept {
    signal(SIGSTOP);
    if (leader_ > 0) ::kill(leader_, SIGCONT);
}

SOTTO_DECL void process_group::end() noexcept {
    if (leader_ <= 0) return;
    ::kill(-leader_, SIGKILL);
    for (const started& one : programs_)
        if (send(one, SIGKILL)) wait(one.id);
    kill_marked([](std::span<const pid_t> killed) {
        // An orphan is a child of this process before its former parent can be waited for. So
        // repeat until no wait succeeds.
        for (bool any = true; std::exchange(any, false);)
            for (const pid_t id : killed) any = wait(id) || any;
    });
    // Inherited processes that ended before, or were not found between fork and exec.
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

SOTTO_DECL bool process_group::send(const started& to, int number) noexcept {
    return ::syscall(SYS_pidfd_send_signal, to.end.handle(), number, nullptr, 0) == 0;
}

SOTTO_DECL std::vector<pid_t> process_group::children() {
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

SOTTO_DECL bool process_group::wait(pid_t which) noexcept {
    return uninterrupted([&] { return ::waitpid(which, nullptr, 0); }) > 0;
}

SOTTO_DECL pid_t process_group::fork_deaf() noexcept {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t id = ::fork();
    const int why = errno;
    if (id != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = why;
    return id;
}

SOTTO_DECL void process_group::lead(int life, int other_end) const noexcept {
    ::close(other_end);
    if (::setpgid(0, 0) != 0) ::_exit(127);
    char none = 0;
    (void)uninterrupted([&] { return ::read(life, &none, 1); });
    kill_marked([](std::span<const pid_t>) {});
    ::kill(-::getpid(), SIGKILL);
    ::_exit(0);
}

SOTTO_DECL void process_group::become(const prepared_program& program, const sigset_t& mask,
                                      pid_t parent, standard_files files,
                                      int failure) const noexcept {
    ::setpgid(0, leader_);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // the parent ended before the request took effect
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

SOTTO_DECL bool process_group::read_whole(int from, int& value) noexcept {
    const ssize_t count = uninterrupted([&] { return ::read(from, &value, sizeof value); });
    return count == sizeof value;  // else it ended without: exec closed it
}

}  // namespace sotto::detail::launch
