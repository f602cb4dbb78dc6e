#pragma once

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>
#include <utility>

#include "sotto/core/detail/files/write_quietly.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

using sotto::detail::write_quietly;

/// Text on its way to a file that may be slow to take it, such as a pipe to a pager: who writes
/// here is never held up.
class line_sink {
public:
    /// From so much on no more should be put in.
    static constexpr std::size_t waiting_max = 1 << 20;

    explicit line_sink(int to) : to_(to) {}

    std::string& text() noexcept { return waiting_; }
    bool empty() const noexcept { return sent_ == waiting_.size(); }
    bool full() const noexcept { return waiting_.size() - sent_ >= waiting_max; }

    /// To be polled for; nothing while nothing waits.
    pollfd wanted() const noexcept { return {empty() ? -1 : to_, POLLOUT, 0}; }

    /// Writes what the file has room for, now that it has some: a pipe that can be written to at
    /// all takes PIPE_BUF bytes without blocking. On a disk that is full or fails the text is
    /// dropped, and the next one is tried.
    ///   errors  io_failure: no process reads the pipe any more
    void write() {
        if (std::exchange(dropped_, false) && in_a_line_) waiting_.insert(0, "\n");
        const std::size_t left = waiting_.size() - sent_;
        const ssize_t count =
            write_quietly(to_, waiting_.data() + sent_, std::min<std::size_t>(left, PIPE_BUF));
        if (count < 0 && errno == EPIPE) refuse_by_system("what the ranks say cannot be written");
        if (count < 0 && errno != EINTR && errno != EAGAIN) return drop();
        if (count > 0) {
            sent_ += static_cast<std::size_t>(count);
            in_a_line_ = waiting_[sent_ - 1] != '\n';
        }
        if (2 * sent_ < waiting_.size()) return;
        waiting_.erase(0, sent_);  // no more is moved than was sent
        sent_ = 0;
    }

    /// Why text was dropped; empty: none was.
    const std::string& failure() const noexcept { return failure_; }

private:
    void drop() {
        failure_ = sotto::detail::system_reason().message();
        waiting_.clear();
        sent_ = 0;
        dropped_ = true;
    }

    int to_;
    std::string waiting_;
    std::size_t sent_ = 0;    // of it
    bool in_a_line_ = false;  // what was written last
    bool dropped_ = false;    // what came after that
    std::string failure_;
};

}  // namespace sotto::detail::launch
