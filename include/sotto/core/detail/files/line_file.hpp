#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/files/write_quietly.hpp"

namespace sotto::detail {

/// Makes the folder that a file is to be in, and those around it, where they are not there.
inline std::error_code make_folder_of(const std::filesystem::path& file) {
    std::error_code reason;
    const std::filesystem::path folder = file.parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, reason);
    return reason;
}

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
    explicit line_file(std::filesystem::path path, duration patience = std::chrono::seconds(1))
        : path_(std::move(path)), place_(path_), patience_(patience) {
        std::error_code is_none;  // the working folder was removed
        if (auto whole = std::filesystem::absolute(path_, is_none); !is_none)
            place_ = std::move(whole);
    }

    line_file(line_file&&) noexcept = default;
    line_file& operator=(line_file&&) noexcept = default;
    ~line_file() { (void)drain(); }

    /// As it was given.
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Whether it can be opened for writing. What is in it stays as it is; its folder is made. A
    /// device or FIFO stays open, since a reader of a FIFO ends when it is closed.
    std::error_code try_out() {
        const std::error_code reason = open();
        if (is_regular_) file_.close();
        return reason;
    }

    std::error_code open_empty() {
        forget();
        if (const std::error_code reason = open()) return reason;
        if (!is_regular_ || is_own_output_) return {};
        if (::ftruncate(file_.handle(), 0) != 0) return fail(system_reason());
        size_ = 0;
        return {};
    }
    std::error_code open_at_end() {
        forget();
        return reopen();
    }

    /// `line` without its end.
    std::error_code write(std::string line) {
        if (!file_)
            if (const std::error_code reason = reopen()) return reason;
        line += '\n';
        if (!is_regular_) return stream(std::move(line));
        if (const std::error_code reason = look()) return reason;
        std::size_t sent = 0;
        while (sent < line.size()) {
            const ::ssize_t count = uninterrupted(
                [&] { return ::write(file_.handle(), line.data() + sent, line.size() - sent); });
            if (count < 0) return fail(system_reason());
            sent += static_cast<std::size_t>(count);
            size_ += static_cast<::off_t>(count);
        }
        return {};
    }

    /// Whether a regular file still is under its name, with all that was written: a file_fault if
    /// not.
    std::error_code look() {
        if (!file_ || !is_regular_) return {};
        struct ::stat own {};
        struct ::stat named {};
        if (::fstat(file_.handle(), &own) != 0) return fail(system_reason());
        if (own.st_nlink == 0) return lose(file_fault::removed);
        if (has_name_ &&
            (::stat(place_.c_str(), &named) == 0 ? !is_same_file(own, named)
                                                 : errno == ENOENT || errno == ENOTDIR))
            return lose(file_fault::renamed);
        if (own.st_size < size_) return lose(file_fault::shortened);
        return {};
    }

    /// Writes what a FIFO's reader had no room for.
    std::error_code drain() {
        if (!file_ || rest_.empty()) return {};
        return send();
    }

    /// Ends the file; the next write would open it again.
    void close() noexcept {
        forget();
        file_.close();
        rest_.clear();
    }

private:
    /// What is found at the next opening is taken as it is.
    void forget() noexcept { written_.reset(); }

    /// The file is closed, and looked at when it is opened again.
    std::error_code fail(std::error_code reason) noexcept {
        if (written_) written_->st_size = size_;
        file_.close();
        rest_.clear();
        return reason;
    }
    /// What was written is gone, which is said once.
    std::error_code lose(std::error_code reason) noexcept {
        close();
        return reason;
    }

    std::error_code reopen() {
        const std::optional<struct ::stat> before = written_;
        if (const std::error_code reason = open()) return reason;
        if (!is_regular_) return {};
        if (before && has_name_ && !is_same_file(*before, *written_))
            return lose(file_fault::removed);
        if (before && written_->st_size < before->st_size) return lose(file_fault::shortened);
        if (is_own_output_) return {};
        if (const std::error_code reason = cut_to_whole_lines()) return fail(reason);
        return {};
    }

    std::error_code open() {
        if (file_ && !is_regular_) return {};
        file_.close();
        rest_.clear();
        if (const std::error_code reason = make_folder_of(place_)) return reason;
        struct ::stat there {};
        const bool is_fifo = ::stat(place_.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
        file_ = open_file(place_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK);
        if (!file_ && errno == ENXIO && is_fifo) return file_fault::no_reader;
        if (!file_) return system_reason();
        if (::fstat(file_.handle(), &there) != 0) return fail(system_reason());
        is_regular_ = S_ISREG(there.st_mode);
        is_own_output_ = is_standard_stream(there);
        size_ = there.st_size;
        struct ::stat named {};
        has_name_ = ::stat(place_.c_str(), &named) == 0 && is_same_file(there, named);
        if (is_regular_) written_ = there;
        if (is_regular_ && is_own_output_) return share_standard_stream(there);
        return {};
    }

    /// By the descriptor of the stream itself: one of its own would have another place in the file,
    /// where what is printed would be overwritten.
    std::error_code share_standard_stream(const struct ::stat& there) noexcept {
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
            struct ::stat one {};
            if (::fstat(stream, &one) != 0 || !is_same_file(there, one)) continue;
            if ((::fcntl(stream, F_GETFL) & O_ACCMODE) == O_RDONLY) continue;
            file_ = descriptor(::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
            return file_ ? std::error_code() : fail(system_reason());
        }
        return {};
    }

    /// A file that may be written but not read cannot be cut.
    std::error_code cut_to_whole_lines() {
        const descriptor in = open_file(place_.c_str(), O_RDONLY | O_NONBLOCK);
        if (!in) return {};
        std::vector<char> block(static_cast<std::size_t>(std::min<::off_t>(size_, 1 << 16)));
        ::off_t whole = 0;
        for (::off_t end = size_; end > 0 && whole == 0;) {
            const auto length = (std::min)(static_cast<::off_t>(block.size()), end);
            end -= length;
            const ::ssize_t got = uninterrupted([&] {
                return ::pread(in.handle(), block.data(), static_cast<std::size_t>(length), end);
            });
            if (got < 0) return system_reason();
            if (got != length) return std::make_error_code(std::errc::io_error);
            const std::string_view piece(block.data(), static_cast<std::size_t>(length));
            const std::size_t last = piece.rfind('\n');
            if (last != piece.npos) whole = end + static_cast<::off_t>(last) + 1;
        }
        if (whole < size_ && ::ftruncate(file_.handle(), whole) != 0) return system_reason();
        size_ = whole;
        return {};
    }

    /// A line that a reader has begun to get is completed before the next one begins.
    std::error_code stream(std::string line) {
        if (const std::error_code reason = drain()) return reason;
        const std::size_t size = line.size();
        rest_ = std::move(line);
        const std::error_code reason = send();
        if (reason != file_fault::slow_reader) return reason;
        if (rest_.size() < size) return {};
        rest_.clear();
        return reason;
    }

    std::error_code send() {
        deadline limit(std::chrono::steady_clock::now(), patience_);
        std::size_t sent = 0;
        while (sent < rest_.size()) {
            const ::ssize_t count = uninterrupted([&] {
                return write_quietly(file_.handle(), rest_.data() + sent, rest_.size() - sent);
            });
            if (count >= 0) {
                sent += static_cast<std::size_t>(count);
            } else if (errno != EAGAIN) {
                return fail(system_reason());
            } else if (!wait_for_room(limit)) {
                rest_.erase(0, sent);
                return file_fault::slow_reader;
            }
        }
        rest_.clear();
        stalls_ = false;
        return {};
    }

    /// Waits for room. A reader that took nothing in time is not waited for again until it does.
    bool wait_for_room(deadline& limit) noexcept {
        while (!stalls_) {
            const time_point now = std::chrono::steady_clock::now();
            stalls_ = limit.passed(now);
            if (stalls_) break;
            const auto most =
                std::chrono::ceil<std::chrono::milliseconds>(limit.next_look() - now).count();
            ::pollfd room{file_.handle(), POLLOUT, 0};
            const int found = ::poll(&room, 1, static_cast<int>(most));
            if (found > 0) return true;
            // A signal may interrupt it again and again.
            stalls_ = found < 0 && errno != EINTR;
        }
        return false;
    }

    std::filesystem::path path_, place_;  // as given, and wherever the program moves to
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
