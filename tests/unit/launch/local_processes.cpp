#include "sotto/launch/detail/line_sink.hpp"
#include "sotto/launch/local_processes.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/launch/detail/system_calls.hpp"
#include "support/folders.hpp"
#include "support/full_at.hpp"

using namespace sotto;
using namespace sotto::launch;
using namespace sotto::detail::launch;
using sotto::detail::launch::descriptor;
using sotto::detail::launch::pipe_ends;
using sotto::testing::scratch_folder;

namespace {

/// A file without a name, and what was written into it.
class scratch_file {
public:
    scratch_file() { REQUIRE(file_ != nullptr); }
    int handle() const { return ::fileno(file_.get()); }

    std::vector<std::string> lines() const {
        std::string text;
        std::array<char, 4096> piece{};
        ::lseek(handle(), 0, SEEK_SET);
        for (ssize_t count = 0; (count = ::read(handle(), piece.data(), piece.size())) > 0;)
            text.append(piece.data(), static_cast<std::size_t>(count));
        std::vector<std::string> all;
        for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.erase(0, end + 1))
            all.push_back(text.substr(0, end));
        CHECK(text.empty());  // all lines are whole
        return all;
    }

private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, closer> file_{std::tmpfile()};
};

/// A job of shells, and what it said.
struct shells {
    std::optional<ending> failure;
    std::vector<std::string> out, err;

    shells(int size, const std::string& script, patience grace = {}) {
        const scratch_file said, complained;
        failure = run({.size = size,
                       .command = {"sh", "-c", script},
                       .grace = grace,
                       .out = said.handle(),
                       .err = complained.handle()});
        out = said.lines();
        err = complained.lines();
    }
};

constexpr patience at_once{duration::zero(), duration::zero()};

/// A pipe whose writing end everything inherits that is started while it lives: its end is read
/// once all of that is gone.
struct witness {
    descriptor read, write;

    witness() {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        read = descriptor(ends[0]);
        write = descriptor(ends[1]);
        ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    }

    /// Whether nobody is left, now.
    bool alone() {
        write.close();
        pollfd one{read.handle(), POLLIN, 0};
        return ::poll(&one, 1, 0) == 1 && one.revents == POLLHUP;
    }

    /// Waits until nobody is left.
    void await() {
        write.close();
        char any = 0;
        ssize_t count = 0;
        while ((count = ::read(read.handle(), &any, 1)) > 0 || (count < 0 && errno == EINTR)) {}
        CHECK(count == 0);
    }
};

/// A process that runs a job, whose output is read line by line.
class launcher {
public:
    launcher(int size, std::string script, patience grace = {}) {
        pipe_ends ends = sotto::detail::launch::open_pipe();
        id_ = ::fork();
        REQUIRE(id_ >= 0);
        if (id_ == 0) {
            int status = 99;
            try {
                const auto failure = run({.size = size,
                                          .command = {"sh", "-c", std::move(script)},
                                          .grace = grace,
                                          .out = ends.write.handle(),
                                          .err = ends.write.handle()});
                status = failure ? failure->exit_status() : 0;
            } catch (...) {}
            ::_exit(status);
        }
        source_.reset(::fdopen(::dup(ends.read.handle()), "r"));
    }
    ~launcher() {
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            ::waitpid(id_, nullptr, 0);
        }
    }

    void signal(int number) { ::kill(id_, number); }

    /// Reads until so many lines have this in them; false if the output ends before.
    bool hear(const std::string& text, int times) {
        char* line = nullptr;
        std::size_t room = 0;
        while (times > 0 && ::getline(&line, &room, source_.get()) > 0)
            if (std::string_view(line).find(text) != std::string_view::npos) --times;
        std::free(line);
        return times == 0;
    }

    /// Whether it is halted, once it is or has ended.
    bool is_halted() {
        int status = 0;
        return ::waitpid(id_, &status, WUNTRACED) == id_ && WIFSTOPPED(status);
    }

    int wait() {
        int status = 0;
        ::waitpid(std::exchange(id_, 0), &status, 0);
        return status;
    }

private:
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    pid_t id_ = 0;
    std::unique_ptr<std::FILE, closer> source_;
};

/// Waits until a process is halted, or is not any more.
void await_halt(const std::string& process, bool halted) {
    while (true) {
        std::ifstream file("/proc/" + process + "/stat");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        REQUIRE(text.find(')') != text.npos);
        if ((text.at(text.rfind(')') + 2) == 'T') == halted) return;
        ::sched_yield();
    }
}

int descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<int>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("every rank learns its place, and its lines say whose they are") {
    shells job(3,
               "echo $SOTTO_RANK of $SOTTO_SIZE, $SOTTO_LOCAL_RANK of $SOTTO_LOCAL_SIZE, meets at "
               "$SOTTO_ADDRESS port $SOTTO_PORT; echo oh >&2");
    CHECK_FALSE(job.failure);
    REQUIRE(job.out.size() == 3);
    std::sort(job.out.begin(), job.out.end());
    const std::string port = job.out[0].substr(job.out[0].rfind(' ') + 1);
    CHECK(std::stoi(port) > 0);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string rank = std::to_string(i);
        CHECK(job.out[i] == "[" + rank + "] " + rank + " of 3, " + rank +
                                " of 3, meets at 127.0.0.1 port " + port);
    }
    std::sort(job.err.begin(), job.err.end());
    CHECK(job.err == std::vector<std::string>{"[0] oh", "[1] oh", "[2] oh"});
}

TEST_CASE("variables that are there already are replaced, others are kept") {
    ::setenv("SOTTO_RANK", "77", 1);
    ::setenv("SOTTO_TEST_OTHER", "kept", 1);
    shells job(1, "env | grep -c ^SOTTO_RANK=; echo $SOTTO_RANK $SOTTO_TEST_OTHER");
    ::unsetenv("SOTTO_RANK");
    ::unsetenv("SOTTO_TEST_OTHER");
    CHECK(job.out == std::vector<std::string>{"[0] 1", "[0] 0 kept"});
}

TEST_CASE("run: a job's name -> given, of the environment or new; all ranks have it") {
    const auto names = [](const std::string& given) {
        const scratch_file said;
        run({.size = 2,
             .command = {"sh", "-c", "echo $SOTTO_JOB_NAME"},
             .job = given,
             .out = said.handle()});
        auto lines = said.lines();
        REQUIRE(lines.size() == 2);
        const std::string name = lines[0].substr(4);
        CHECK(lines[1].substr(4) == name);
        return name;
    };
    const char* const set = std::getenv("SOTTO_JOB_NAME");
    const std::string before = set != nullptr ? set : "";
    ::unsetenv("SOTTO_JOB_NAME");
    CHECK(names("nightly") == "nightly");
    const std::string made = names("");
    CHECK(made.starts_with("sotto-"));
    CHECK(names("") != made);
    ::setenv("SOTTO_JOB_NAME", "weekly", 1);
    CHECK(names("") == "weekly");
    CHECK(names("nightly") == "nightly");
    ::unsetenv("SOTTO_JOB_NAME");
    if (set != nullptr) ::setenv("SOTTO_JOB_NAME", before.c_str(), 1);
    CHECK_THROWS_WITH_AS(
        run({.size = 1, .command = {"true"}, .job = std::string(257, 'x')}),
        "launch: the job's name has 257 bytes; at most 256 are possible: shorten it",
        sotto::invalid_option);
}

TEST_CASE("lines of ranks that write at the same time stay whole, in order and complete") {
    shells job(4,
               "i=0; while [ $i -lt 3000 ]; do "
               "echo $i abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz $SOTTO_RANK; "
               "i=$((i+1)); done; printf last");
    CHECK_FALSE(job.failure);
    REQUIRE(job.out.size() == 4 * 3001);
    std::array<int, 4> next{};
    for (const std::string& line : job.out) {
        const auto rank = static_cast<std::size_t>(line[1] - '0');
        REQUIRE(rank < 4);
        const std::string number = std::to_string(rank), prefix = "[" + number + "] ";
        const int i = next[rank]++;
        REQUIRE(line == (i == 3000 ? prefix + "last"
                                   : prefix + std::to_string(i) +
                                         " abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz " +
                                         number));
    }
}

TEST_CASE("more than fits into memory's share passes through") {
    shells job(2, "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 999; echo; echo end");
    CHECK_FALSE(job.failure);
    std::size_t letters = 0;
    for (const std::string& line : job.out)
        letters += static_cast<std::size_t>(std::count(line.begin(), line.end(), 'x'));
    CHECK(letters == 6'000'000);
    CHECK(std::count(job.out.begin(), job.out.end(), "[1] end") == 1);
}

TEST_CASE("the first rank that fails is named, with how it ended") {
    shells exits(3, "[ $SOTTO_RANK != 1 ] || exit 3");
    REQUIRE(exits.failure);
    CHECK(exits.failure->rank == 1);
    CHECK(exits.failure->exit_status() == 3);
    REQUIRE_FALSE(exits.err.empty());
    CHECK(exits.err[0].starts_with("launch: rank 1 ended with exit status 3"));

    shells dies(3, "[ $SOTTO_RANK != 2 ] || kill -9 $$");
    REQUIRE(dies.failure);
    CHECK(dies.failure->text() == "rank 2 was ended by signal 9 (Killed)");
    CHECK(dies.failure->exit_status() == 137);
}

TEST_CASE("ranks that go on when one has failed are asked to end, then made to") {
    const scratch_folder folder("local_processes");
    const std::string meeting = folder.path() / "meeting";
    REQUIRE(::mkfifo(meeting.c_str(), 0600) == 0);
    // Rank 0 fails once rank 1 is prepared.
    const std::string first = "[ $SOTTO_RANK = 1 ] || { read line < " + meeting + "; exit 7; }; ";
    // A shell that waits for nobody runs its trap at once.
    const std::string second = "; echo prepared > " + meeting + "; while :; do :; done";

    const shells asked(2, first + "trap 'echo asked; exit 0' TERM" + second,
                       {.until_terminate = duration::zero()});
    REQUIRE(asked.failure);
    CHECK(asked.failure->text() == "rank 0 ended with exit status 7");
    CHECK(asked.out == std::vector<std::string>{"[1] asked"});
    REQUIRE(asked.err.size() == 2);
    CHECK(asked.err[0] ==
          "launch: rank 0 ended with exit status 7; waiting for rank 1, SIGTERM in 0 s");
    CHECK(asked.err[1] ==
          "launch: SIGTERM to rank 1, after 0 s; SIGKILL in 5 s to who is then left");

    const shells deaf(2, first + "trap '' TERM" + second, at_once);
    REQUIRE(deaf.failure);
    CHECK(deaf.failure->rank == 0);
    CHECK(deaf.err.back() == "launch: killed: rank 1");
}

TEST_CASE("what ranks started is gone when the job is over") {
    witness everybody;
    shells job(3,
               "tail -f /dev/null & (sh -c 'tail -f /dev/null & exec tail -f /dev/null' &) ; "
               "echo done");
    CHECK_FALSE(job.failure);
    CHECK(job.out.size() == 3);
    CHECK(everybody.alone());
}

TEST_CASE("what ranks started is gone when one was killed") {
    witness everybody;
    shells job(3, "tail -f /dev/null & [ $SOTTO_RANK != 1 ] || kill -9 $$; wait", at_once);
    REQUIRE(job.failure);
    CHECK(job.failure->rank == 1);
    CHECK(everybody.alone());
}

TEST_CASE("when the launcher is killed, nothing is left of the job") {
    witness everybody;
    launcher job(3, "(trap '' INT TERM HUP; tail -f /dev/null) & echo ready; wait");
    REQUIRE(job.hear("ready", 3));
    job.signal(SIGKILL);
    job.wait();
    everybody.await();
}

TEST_CASE("ranks and what they started are gone though they left the process group") {
    witness everybody;
    shells job(3,
               "setsid sh -c 'tail -f /dev/null & exec tail -f /dev/null' & "
               "[ $SOTTO_RANK != 1 ] || exit 3; exec timeout 1h sh -c 'trap \"\" TERM; wait; "
               "tail -f /dev/null'",
               at_once);
    REQUIRE(job.failure);
    CHECK(job.failure->text() == "rank 1 ended with exit status 3");
    CHECK(everybody.alone());
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}

TEST_CASE("what was inherited of ranks and has ended by itself is waited for as well") {
    const scratch_folder folder("local_processes");
    const std::string meeting = folder.path() / "meeting";
    REQUIRE(::mkfifo(meeting.c_str(), 0600) == 0);
    // What is read ends with its only writer.
    shells job(2, "[ $SOTTO_RANK = 0 ] || exit 0; (setsid sh -c 'exec > " + meeting + "' &); cat " +
                      meeting + "; echo done");
    CHECK_FALSE(job.failure);
    CHECK(job.out == std::vector<std::string>{"[0] done"});
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}

TEST_CASE("what this program itself started meanwhile lives on") {
    const pid_t other = ::fork();
    REQUIRE(other >= 0);
    if (other == 0) {
        ::setpgid(0, 0);
        ::pause();
        ::_exit(0);
    }
    shells(2, "setsid tail -f /dev/null & exit 0");
    CHECK(::waitpid(other, nullptr, WNOHANG) == 0);
    ::kill(other, SIGKILL);
    CHECK(::waitpid(other, nullptr, 0) == other);
}

TEST_CASE("when the launcher is killed, nothing is left that left the process group either") {
    witness everybody;
    launcher job(3,
                 "setsid sh -c 'echo ready; exec tail -f /dev/null > /dev/null' & "
                 "exec timeout 1h sh -c 'echo ready; exec tail -f /dev/null > /dev/null'");
    REQUIRE(job.hear("ready", 6));
    job.signal(SIGKILL);
    job.wait();
    everybody.await();
}

TEST_CASE("a rank that saves at an interrupt is not hurried by those that end of it at once") {
    const scratch_folder folder("local_processes");
    const std::string meeting = folder.path() / "meeting";
    REQUIRE(::mkfifo(meeting.c_str(), 0600) == 0);
    launcher job(3,
                 "[ $SOTTO_RANK = 0 ] || { echo ready; exec tail -f /dev/null; }; "
                 "trap 'read line < " +
                     meeting +
                     "; echo saved; exit 0' INT; trap 'echo hurried' TERM; echo ready; "
                     "while :; do :; done",
                 at_once);
    REQUIRE(job.hear("ready", 3));
    job.signal(SIGINT);
    REQUIRE(job.hear("was ended by signal 2", 1));
    std::fstream now(meeting, std::ios::in | std::ios::out);  // never waits for a reader
    now << "now" << std::endl;
    CHECK(job.hear("[0] saved", 1));
    CHECK(WEXITSTATUS(job.wait()) == 128 + SIGINT);
}

TEST_CASE("an interrupt goes to ranks that left the process group as well, once") {
    witness everybody;
    launcher job(3,
                 "exec setsid sh -c 'trap \"echo heard; n=x\\$n\" INT; n=; echo ready; "
                 "while [ \"$n\" = \"\" ]; do :; done; exit 5'");
    REQUIRE(job.hear("ready", 3));
    job.signal(SIGINT);
    CHECK(job.hear("heard", 3));
    CHECK_FALSE(job.hear("heard", 1));
    const int status = job.wait();
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 5);
    CHECK(everybody.alone());
}

TEST_CASE("a second interrupt kills those that left the process group as well") {
    witness everybody;
    launcher job(2, "exec setsid sh -c 'trap \"\" INT TERM; echo ready; tail -f /dev/null'");
    REQUIRE(job.hear("ready", 2));
    job.signal(SIGTERM);
    REQUIRE(job.hear("launch: sending Terminated to all ranks", 1));
    job.signal(SIGINT);
    CHECK(WEXITSTATUS(job.wait()) == 128 + SIGKILL);
    CHECK(everybody.alone());
}

TEST_CASE("Ctrl-Z: the launcher and its ranks halt, and go on together") {
    const scratch_folder folder("local_processes");
    witness everybody;
    launcher job(2,
                 "echo $$ > " + folder.path().string() +
                     "/$SOTTO_RANK; loop='trap \"exit 5\" INT; echo ready; while :; do :; done'; "
                     "[ $SOTTO_RANK = 0 ] || exec setsid sh -c \"$loop\"; eval \"$loop\"");
    REQUIRE(job.hear("ready", 2));
    std::array<std::string, 2> ranks;
    for (std::size_t i = 0; i < 2; ++i)
        std::ifstream(folder.path() / std::to_string(i)) >> ranks[i];
    for (int times = 0; times < 2; ++times) {
        job.signal(SIGTSTP);
        REQUIRE(job.is_halted());
        for (const std::string& rank : ranks) await_halt(rank, true);
        job.signal(SIGCONT);
        for (const std::string& rank : ranks) await_halt(rank, false);
    }
    job.signal(SIGINT);
    CHECK(WEXITSTATUS(job.wait()) == 5);
    CHECK(everybody.alone());
}

TEST_CASE("Ctrl-Z: the launcher is killed while the job is halted -> no rank is left") {
    witness everybody;
    launcher job(2,
                 "setsid sh -c 'echo ready; exec tail -f /dev/null > /dev/null' & "
                 "echo ready; exec tail -f /dev/null > /dev/null");
    REQUIRE(job.hear("ready", 4));
    job.signal(SIGTSTP);
    REQUIRE(job.is_halted());
    job.signal(SIGKILL);
    job.wait();
    everybody.await();
}

TEST_CASE("an interrupt goes to all ranks, which may end as they like") {
    witness everybody;
    launcher job(3, "trap 'echo told; exit 5' INT; echo ready; while :; do :; done");
    REQUIRE(job.hear("ready", 3));
    job.signal(SIGINT);
    CHECK(job.hear("told", 3));
    const int status = job.wait();
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 5);
    CHECK(everybody.alone());
}

TEST_CASE("a second interrupt kills those that do not listen") {
    witness everybody;
    launcher job(3, "trap '' INT TERM; echo ready; tail -f /dev/null");
    REQUIRE(job.hear("ready", 3));
    job.signal(SIGTERM);
    REQUIRE(job.hear("launch: sending Terminated to all ranks", 1));
    job.signal(SIGINT);
    const int status = job.wait();
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + SIGKILL);
    CHECK(everybody.alone());
}

TEST_CASE("nobody who reads is no reason to hang: a second interrupt is heard") {
    const pipe_ends ends = sotto::detail::launch::open_pipe();
    witness everybody;
    const pid_t id = ::fork();
    REQUIRE(id >= 0);
    if (id == 0) {
        const auto failure = run({.size = 1,
                                  .command = {"sh", "-c", "trap '' INT TERM; yes"},
                                  .out = ends.write.handle(),
                                  .err = ends.write.handle()});
        ::_exit(failure ? failure->exit_status() : 0);
    }
    pollfd one{ends.read.handle(), POLLIN, 0};
    REQUIRE(::poll(&one, 1, -1) == 1);  // from now on it fills, and nobody takes anything out
    ::kill(id, SIGINT);
    ::kill(id, SIGTERM);
    int status = 0;
    REQUIRE(::waitpid(id, &status, 0) == id);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 128 + SIGKILL);
    CHECK(everybody.alone());
}

TEST_CASE("nobody who will ever read is an error, and no signal to this program") {
    pipe_ends ends = sotto::detail::launch::open_pipe();
    ends.read.close();
    witness everybody;
    const local_processes job{.size = 2,
                              .command = {"sh", "-c", "echo here; exec tail -f /dev/null"},
                              .out = ends.write.handle()};
    CHECK_THROWS_WITH_AS(run(job), "launch: what the ranks say cannot be written: Broken pipe",
                         io_failure);
    CHECK(everybody.alone());
    sigset_t left;
    ::sigpending(&left);
    CHECK_FALSE(::sigismember(&left, SIGPIPE));
    ::pthread_sigmask(SIG_SETMASK, nullptr, &left);
    CHECK_FALSE(::sigismember(&left, SIGPIPE));
}

TEST_CASE("local_processes: the output is full -> dropped, said once, the job ends well") {
    const auto full = sotto::detail::open_file("/dev/full", O_WRONLY);
    if (!full) {
        MESSAGE("skipped: there is no /dev/full");
        return;
    }
    const sotto::testing::scratch_folder folder("launch_full");
    const auto errors =
        sotto::detail::open_file((folder.path() / "errors").c_str(), O_RDWR | O_CREAT | O_TRUNC);
    witness everybody;
    const std::string done = (folder.path() / "done").string();
    const local_processes job{
        .size = 2,
        .command = {"sh", "-c", "echo one; echo two; : > " + done + "$SOTTO_RANK"},
        .out = full.handle(),
        .err = errors.handle()};
    CHECK_THROWS_WITH_AS(run(job),
                         "launch: what the ranks printed is incomplete: No space left on device",
                         output_incomplete);
    CHECK(std::filesystem::exists(done + "0"));
    CHECK(std::filesystem::exists(done + "1"));
    std::string said(4096, ' ');
    const auto size = ::pread(errors.handle(), said.data(), said.size(), 0);
    said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    CHECK(said ==
          "launch: what the ranks print cannot be written: No space left on device; it is dropped, "
          "and the job goes on\n");
    const local_processes failing{.size = 1,
                                  .command = {"sh", "-c", "echo one; exit 7"},
                                  .out = full.handle(),
                                  .err = errors.handle()};
    CHECK(run(failing)->exit_status() == 7);  // which says more
    CHECK(everybody.alone());
}

TEST_CASE("line_sink: a disk fails in a line -> the next line is whole") {
    const sotto::testing::scratch_folder folder("line_sink");
    const auto path = folder.path() / "out";
    const auto file = sotto::detail::open_file(path.c_str(), O_WRONLY | O_CREAT | O_APPEND);
    sotto::detail::launch::line_sink sink(file.handle());
    {
        const sotto::testing::full_at full(5);
        sink.text() = "one line\n";
        while (!sink.empty()) sink.write();
    }
    CHECK(sink.failure() == "File too large");
    sink.text() += "another\n";
    while (!sink.empty()) sink.write();
    std::ifstream in(path);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    CHECK(text == "one l\nanother\n");
}

TEST_CASE("a signal that this program itself keeps back is left to it") {
    pipe_ends ends = sotto::detail::launch::open_pipe();
    ends.read.close();
    sigset_t pipe, before, left;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    ::pthread_kill(::pthread_self(), SIGPIPE);
    CHECK_THROWS_AS(run({.size = 1, .command = {"echo", "here"}, .out = ends.write.handle()}),
                    io_failure);
    ::sigpending(&left);
    CHECK(::sigismember(&left, SIGPIPE));
    int taken = 0;
    ::sigwait(&pipe, &taken);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("run: SIGCHLD ignored or handled -> statuses are kept, and it is as before") {
    struct sigaction before {};
    ::sigaction(SIGCHLD, nullptr, &before);
    const auto reap = [](int) {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {}
    };
    using handler = void (*)(int);
    for (const handler own : {handler{SIG_IGN}, handler{reap}}) {
        ::signal(SIGCHLD, own);
        const shells job(3, "[ $SOTTO_RANK != 1 ] || exit 7; grep SigIgn /proc/self/status");
        struct sigaction after {};
        ::sigaction(SIGCHLD, &before, &after);
        CHECK((after.sa_handler == own));
        REQUIRE(job.failure);
        CHECK(job.failure->text() == "rank 1 ended with exit status 7");
        REQUIRE(job.out.size() == 2);  // the ranks begin with the default
        const unsigned long long ignored =
            std::stoull(job.out[0].substr(job.out[0].rfind('\t')), nullptr, 16);
        CHECK((ignored >> (SIGCHLD - 1) & 1) == 0);
    }
}

TEST_CASE("run: a timer interrupts every call -> no status and no line is lost") {
    struct sigaction own {};
    own.sa_handler = [](int) {};  // and no SA_RESTART
    struct sigaction before {};
    ::sigaction(SIGALRM, &own, &before);
    const itimerval every{{0, 100}, {0, 100}}, never{};
    ::setitimer(ITIMER_REAL, &every, nullptr);
    std::vector<int> statuses;
    std::size_t lines = 0;
    for (int i = 0; i < 5; ++i) {
        const shells job(4,
                         "i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); done; "
                         "[ $SOTTO_RANK != 2 ] || exit 7");
        statuses.push_back(job.failure ? job.failure->exit_status() : 0);
        lines += job.out.size();
    }
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(statuses == std::vector<int>(5, 7));
    CHECK(lines == 5 * 4 * 200);
}

TEST_CASE("run: standard streams closed -> the job runs, and ranks have streams") {
    for (const int closed : {6, 7}) {  // a bit for each stream
        CAPTURE(closed);
        const pid_t id = ::fork();
        REQUIRE(id >= 0);
        if (id == 0) {
            for (int stream = 0; stream < 3; ++stream)
                if ((closed >> stream & 1) != 0) ::close(stream);
            const char* const script =
                "echo said; echo complained >&2; read line; "
                "[ -c /dev/stdin ] && [ -p /dev/stdout ] && [ -p /dev/stderr ] && exit 7";
            try {
                const auto failure = run({.size = 2, .command = {"sh", "-c", script}});
                for (int stream = 0; stream < 3; ++stream)
                    if (::fcntl(stream, F_GETFD) < 0) ::_exit(98);
                ::_exit(failure ? failure->exit_status() : 0);
            } catch (...) {
                ::_exit(99);
            }
        }
        int status = 0;
        REQUIRE(::waitpid(id, &status, 0) == id);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 7);
    }
}

TEST_CASE("input is empty") {
    shells job(2, "wc -c; read line || echo nothing");
    CHECK(std::count(job.out.begin(), job.out.end(), "[1] 0") == 1);
    CHECK(std::count(job.out.begin(), job.out.end(), "[0] nothing") == 1);
}

TEST_CASE("what cannot be run is named") {
    const auto refused = [](std::vector<std::string> command, int size = 2) {
        try {
            run({.size = size, .command = std::move(command)});
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string("it ran");
    };
    CHECK(refused({"no-such-program-here"}) ==
          "launch: there is no program 'no-such-program-here' in the folders of PATH");
    CHECK(refused({"/no/such/program"}) ==
          "launch: '/no/such/program' cannot be run: No such file or directory");
    CHECK(refused({"/etc/passwd"}) == "launch: '/etc/passwd' cannot be run: Permission denied");
    CHECK(refused({}) == "launch: there is no command to run");
    CHECK(refused({"true"}, 0) == "launch: 0 processes; 1 to 4096 are possible on one machine");
}

TEST_CASE("a job leaves the process as it found it") {
    shells(1, "true");
    const int before = descriptors();
    sigset_t mask_before, mask_after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
    shells(3, "tail -f /dev/null & exit $SOTTO_RANK");
    CHECK_THROWS_AS(run({.size = 2, .command = {"/no/such/program"}}), invalid_option);
    CHECK(descriptors() == before);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
        CHECK(::sigismember(&mask_before, signal) == ::sigismember(&mask_after, signal));
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // nor has it children
    CHECK(errno == ECHILD);
}
