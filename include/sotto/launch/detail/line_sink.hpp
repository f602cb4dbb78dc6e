#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "sotto/core/detail/files/write_quietly.hpp"

namespace sotto::detail::launch {

using sotto::detail::write_quietly;

/// Buffers text for a file that may accept it slowly, such as a pipe to a pager. Writers are never
/// blocked.
class line_sink {
public:
    /// Size from which no more text should be added.
    static constexpr std::size_t waiting_max = 1 << 20;

    explicit line_sink(int to) : to_(to) {}

    std::string& text() noexcept { return waiting_; }
    bool empty() const noexcept { return sent_ == waiting_.size(); }
    bool full() const noexcept { return waiting_.size() - sent_ >= waiting_max; }

    /// Descriptor to poll for; none if no text waits.
    pollfd wanted() const noexcept { return {empty() ? -1 : to_, POLLOUT, 0}; }

    /// Writes what the file has room for. Call it when poll reports room: a pipe then takes
    /// PIPE_BUF bytes without blocking. If a disk is full or fails, the text is dropped, and later
    /// text is tried again.
    ///   errors  io_failure: no process reads the pipe any more
    void write();

    /// Why text was dropped; empty if none was.
    const std::string& failure() const noexcept { return failure_; }

private:
    void drop();

    int to_;
    std::string waiting_;
    std::size_t sent_ = 0;    // bytes of waiting_ that are written
    bool in_a_line_ = false;  // the last written byte did not end a line
    bool dropped_ = false;    // the text after it was dropped
    std::string failure_;
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/line_sink.ipp"
#endif
