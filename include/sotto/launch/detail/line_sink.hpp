#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "sotto/core/detail/files/write_quietly.hpp"

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
    void write();

    /// Why text was dropped; empty: none was.
    const std::string& failure() const noexcept { return failure_; }

private:
    void drop();

    int to_;
    std::string waiting_;
    std::size_t sent_ = 0;    // of it
    bool in_a_line_ = false;  // what was written last
    bool dropped_ = false;    // what came after that
    std::string failure_;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/line_sink.ipp"
#endif
