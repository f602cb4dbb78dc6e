#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bench {

/// Writes a line for whoever forked this process off.
inline void tell(int tells, std::string line) {
    line += '\n';
    for (std::string_view left = line; !left.empty();) {
        const ssize_t count = ::write(tells, left.data(), left.size());
        if (count < 0 && errno != EINTR) return;
        if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    }
}

/// A process that was forked off, and the lines that it writes to a pipe. It is killed when this
/// goes.
class forked {
public:
    /// Runs body(tells), where `tells` is the descriptor to write to.
    template <class Body>
    explicit forked(Body body) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) fail("pipe");
        id_ = ::fork();
        if (id_ < 0) fail("fork");
        if (id_ == 0) {
            ::close(ends[0]);
            ::signal(SIGPIPE, SIG_DFL);  // so that one would be seen
            int status = 1;
            try {
                body(ends[1]);
                status = 0;
            } catch (const std::exception& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
            std::fflush(nullptr);
            ::_exit(status);
        }
        ::close(ends[1]);
        reads_ = ends[0];
    }
    forked(forked&& other) noexcept
        : id_(std::exchange(other.id_, 0)),
          reads_(std::exchange(other.reads_, -1)),
          part_(std::move(other.part_)),
          lines_(std::move(other.lines_)) {}
    forked& operator=(forked&&) = delete;
    ~forked() {
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            (void)wait();
        }
        if (reads_ >= 0) ::close(reads_);
    }

    pid_t id() const noexcept { return id_; }
    int handle() const noexcept { return reads_; }
    bool closed() const noexcept { return reads_ < 0; }
    const std::vector<std::string>& lines() const noexcept { return lines_; }
    void signal(int number) const noexcept { ::kill(id_, number); }

    /// Takes what it has written, which poll(2) says is there.
    void read() {
        std::array<char, 4096> room;
        const ssize_t count = ::read(reads_, room.data(), room.size());
        if (count < 0 && errno == EINTR) return;
        if (count <= 0) {
            ::close(std::exchange(reads_, -1));
            return;
        }
        for (const char c : std::span(room).first(static_cast<std::size_t>(count)))
            if (c == '\n')
                lines_.push_back(std::exchange(part_, {}));
            else
                part_ += c;
    }

    /// Until it has ended; how, as waitpid tells it.
    int wait() {
        int status = 0;
        const pid_t id = std::exchange(id_, 0);
        while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {}
        return status;
    }

private:
    [[noreturn]] static void fail(const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    }

    pid_t id_ = 0;
    int reads_ = -1;
    std::string part_;  // of a line
    std::vector<std::string> lines_;
};

/// Waits until one of them has written something or ended its side, at most so many milliseconds,
/// and reads it.
inline void read_any(std::span<forked* const> from, int milliseconds) {
    std::vector<pollfd> waits;
    for (const forked* const f : from)
        waits.push_back({f->handle(), POLLIN, 0});  // -1: passed over
    if (::poll(waits.data(), waits.size(), milliseconds) <= 0) return;
    for (std::size_t i = 0; i < waits.size(); ++i)
        if (waits[i].revents != 0) from[i]->read();
}

}  // namespace bench
