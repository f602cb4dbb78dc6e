#pragma once

#include "sotto/core/detail/files/line_file.hpp"

#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/files/write_quietly.hpp"

namespace sotto::detail {

SOTTO_DECL std::error_code make_folder_of(const std::string& file) {
    std::error_code reason;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, reason);
    return reason;
}

SOTTO_DECL line_file::line_file(std::string path, duration patience)
    : path_(std::move(path)), place_(path_), patience_(patience) {
    std::error_code is_none;  // the working directory was removed
    if (auto whole = std::filesystem::absolute(path_, is_none); !is_none) place_ = whole.string();
}

SOTTO_DECL std::error_code line_file::try_out() {
    const std::error_code reason = open();
    if (is_regular_) file_.close();
    return reason;
}

SOTTO_DECL std::error_code line_file::open_empty() {
    forget();
    if (const std::error_code reason = open()) return reason;
    if (!is_regular_ || is_own_output_) return {};
    if (::ftruncate(file_.handle(), 0) != 0) return fail(system_reason());
    size_ = 0;
    return {};
}

SOTTO_DECL std::error_code line_file::open_at_end() {
    forget();
    return reopen();
}

SOTTO_DECL std::error_code line_file::write(std::string line) {
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

SOTTO_DECL std::error_code line_file::look() {
    if (!file_ || !is_regular_) return {};
    struct ::stat own {};
    struct ::stat named {};
    if (::fstat(file_.handle(), &own) != 0) return fail(system_reason());
    if (own.st_nlink == 0) return lose(file_fault::removed);
    if (has_name_ && (::stat(place_.c_str(), &named) == 0 ? !is_same_file(own, named)
                                                          : errno == ENOENT || errno == ENOTDIR))
        return lose(file_fault::renamed);
    if (own.st_size < size_) return lose(file_fault::shortened);
    return {};
}

SOTTO_DECL std::error_code line_file::drain() {
    if (!file_ || rest_.empty()) return {};
    return send();
}

SOTTO_DECL void line_file::close() noexcept {
    forget();
    file_.close();
    rest_.clear();
}

SOTTO_DECL std::error_code line_file::fail(std::error_code reason) noexcept {
    if (written_) written_->st_size = size_;
    file_.close();
    rest_.clear();
    return reason;
}

SOTTO_DECL std::error_code line_file::lose(std::error_code reason) noexcept {
    close();
    return reason;
}

SOTTO_DECL std::error_code line_file::reopen() {
    const std::optional<struct ::stat> before = written_;
    if (const std::error_code reason = open()) return reason;
    if (!is_regular_) return {};
    if (before && has_name_ && !is_same_file(*before, *written_)) return lose(file_fault::removed);
    if (before && written_->st_size < before->st_size) return lose(file_fault::shortened);
    if (is_own_output_) return {};
    if (const std::error_code reason = cut_to_whole_lines()) return fail(reason);
    return {};
}

SOTTO_DECL std::error_code line_file::open() {
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

SOTTO_DECL std::error_code line_file::share_standard_stream(const struct ::stat& there) noexcept {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        struct ::stat one {};
        if (::fstat(stream, &one) != 0 || !is_same_file(there, one)) continue;
        if ((::fcntl(stream, F_GETFL) & O_ACCMODE) == O_RDONLY) continue;
        file_ = descriptor(::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
        return file_ ? std::error_code() : fail(system_reason());
    }
    return {};
}

SOTTO_DECL std::error_code line_file::cut_to_whole_lines() {
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

SOTTO_DECL std::error_code line_file::stream(std::string line) {
    if (const std::error_code reason = drain()) return reason;
    const std::size_t size = line.size();
    rest_ = std::move(line);
    const std::error_code reason = send();
    if (reason != file_fault::slow_reader) return reason;
    if (rest_.size() < size) return {};
    rest_.clear();
    return reason;
}

SOTTO_DECL std::error_code line_file::send() {
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

SOTTO_DECL bool line_file::wait_for_room(deadline& limit) noexcept {
    while (!stalls_) {
        const time_point now = std::chrono::steady_clock::now();
        stalls_ = limit.passed(now);
        if (stalls_) break;
        const auto most =
            std::chrono::ceil<std::chrono::milliseconds>(limit.next_look() - now).count();
        ::pollfd room{file_.handle(), POLLOUT, 0};
        const int found = ::poll(&room, 1, static_cast<int>(most));
        if (found > 0) return true;
        // A signal may interrupt poll any number of times.
        stalls_ = found < 0 && errno != EINTR;
    }
    return false;
}

}  // namespace sotto::detail
