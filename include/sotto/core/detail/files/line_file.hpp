#pragma once

#include <fcntl.h>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail {

/// Makes the folder that a file is to be in, and those around it, where they are not there.
std::error_code make_folder_of(const std::string& file);

/// A file that grows by lines, and holds whole ones alone: what a crash or a full disk left of a
/// line is cut off before the next one is written. A device or a FIFO takes the lines, too: it is
/// opened without blocking, and a FIFO whose reader is slow is waited for at most `patience`.
///
/// A regular file may be removed, renamed or shortened by others while it is written, or between
/// two attempts. `write` then writes nothing and returns the file_fault, so that no line is lost
/// silently.
///   cost    a line is one call of the system, and two more that look at a regular file
///   errors  returns the system's reason or a file_fault, and nothing on success. The file is then
///           closed, and the next write opens it again
class line_file {
public:
    explicit line_file(std::string path, duration patience = std::chrono::seconds(1));

    line_file(line_file&&) noexcept = default;
    line_file& operator=(line_file&&) noexcept = default;
    ~line_file() { (void)drain(); }

    /// As it was given.
    const std::string& path() const noexcept { return path_; }

    /// Whether it can be opened for writing. What is in it stays as it is; its folder is made. A
    /// device or FIFO stays open, since a reader of a FIFO ends when it is closed.
    std::error_code try_out();

    std::error_code open_empty();
    std::error_code open_at_end();

    /// `line` without its end.
    std::error_code write(std::string line);

    /// Whether a regular file still is under its name, with all that was written: a file_fault if
    /// not.
    std::error_code look();

    /// Writes what a FIFO's reader had no room for.
    std::error_code drain();

    /// Ends the file; the next write would open it again.
    void close() noexcept;

private:
    /// What is found at the next opening is taken as it is.
    void forget() noexcept { written_.reset(); }

    /// The file is closed, and looked at when it is opened again.
    std::error_code fail(std::error_code reason) noexcept;
    /// What was written is gone, which is said once.
    std::error_code lose(std::error_code reason) noexcept;

    std::error_code reopen();

    std::error_code open();

    /// By the descriptor of the stream itself: one of its own would have another place in the file,
    /// where what is printed would be overwritten.
    std::error_code share_standard_stream(const struct ::stat& there) noexcept;

    /// A file that may be written but not read cannot be cut.
    std::error_code cut_to_whole_lines();

    /// A line that a reader has begun to get is completed before the next one begins.
    std::error_code stream(std::string line);

    std::error_code send();

    /// Waits for room. A reader that took nothing in time is not waited for again until it does.
    bool wait_for_room(deadline& limit) noexcept;

    std::string path_, place_;  // as given, and wherever the program moves to
    duration patience_{};
    descriptor file_;
    bool is_regular_ = true;
    bool is_own_output_ = false;  // as /dev/stdout is: what others wrote there stays
    bool has_name_ = true;        // its numbers are those of its path, as on most file systems
    bool stalls_ = false;         // its reader took nothing the last time
    ::off_t size_ = 0;            // of a regular file: at least
    std::optional<struct ::stat> written_;  // the regular file that was opened last
    std::string rest_;                      // of a line, for a FIFO
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/line_file.ipp"
#endif
