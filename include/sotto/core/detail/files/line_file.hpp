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

/// Makes the folder of a file, and its parents, if they are missing.
std::error_code make_folder_of(const std::string& file);

/// A file that grows by whole lines. After a crash or on a full disk, the next write first cuts off
/// a partial line. Devices and FIFOs work too: opening never blocks, and a write waits at most
/// `patience` for a slow reader of a FIFO.
///
/// Other programs may remove, rename or shorten a regular file while it is written, or between two
/// attempts. `write` then writes nothing and returns the file_fault, so that no line is lost
/// silently.
///   cost    one system call a line, and two more that check a regular file
///   errors  returns the system's reason or a file_fault, and nothing on success. On failure the
///           file is closed; the next write opens it again
class line_file {
public:
    explicit line_file(std::string path, duration patience = std::chrono::seconds(1));

    line_file(line_file&&) noexcept = default;
    line_file& operator=(line_file&&) noexcept = default;
    ~line_file() { (void)drain(); }

    /// Returns the path as the caller passed it.
    const std::string& path() const noexcept { return path_; }

    /// Returns an error if the file cannot be opened for writing. It makes the folder and does not
    /// change the content. A device or FIFO stays open, because the reader of a FIFO ends when it
    /// is closed.
    std::error_code try_out();

    std::error_code open_empty();
    std::error_code open_at_end();

    /// Writes `line` and a line end.
    std::error_code write(std::string line);

    /// Returns a file_fault if a regular file lost its name or written data.
    std::error_code look();

    /// Writes what the reader of a FIFO had no room for.
    std::error_code drain();

    /// Closes the file; the next write opens it again.
    void close() noexcept;

private:
    /// Makes the next opening accept the file as it finds it.
    void forget() noexcept { written_.reset(); }

    /// Closes the file. The next opening checks it.
    std::error_code fail(std::error_code reason) noexcept;
    /// Closes the file after a loss. The next opening accepts what it finds, so that the loss is
    /// reported once.
    std::error_code lose(std::error_code reason) noexcept;

    std::error_code reopen();

    std::error_code open();

    /// Duplicates the descriptor of the standard stream. Another descriptor would have its own file
    /// position and overwrite what the program prints.
    std::error_code share_standard_stream(const struct ::stat& there) noexcept;

    /// Leaves a file as it is if it can be written but not read.
    std::error_code cut_to_whole_lines();

    /// Completes a line that a reader has partly received before it writes the next one.
    std::error_code stream(std::string line);

    std::error_code send();

    /// Waits for room. If the reader accepts nothing before the limit, later calls do not wait
    /// until it accepts data again.
    bool wait_for_room(deadline& limit) noexcept;

    std::string path_, place_;  // as passed; and absolute, in case the working directory changes
    duration patience_{};
    descriptor file_;
    bool is_regular_ = true;
    bool is_own_output_ = false;  // a standard stream, as /dev/stdout: output of others stays
    bool has_name_ = true;  // its device and inode are those of its path, as on most file systems
    bool stalls_ = false;   // the last wait for its reader timed out
    ::off_t size_ = 0;      // least size of a regular file
    std::optional<struct ::stat> written_;  // the regular file that was opened last
    std::string rest_;                      // rest of a line, for a FIFO
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/line_file.ipp"
#endif
