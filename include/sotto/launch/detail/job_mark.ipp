#pragma once

#include "sotto/launch/detail/job_mark.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"

namespace sotto::detail::launch {

SOTTO_DECL job_mark::job_mark() {
    char* at = std::copy(name.begin(), name.end(), text_.data());
    *at++ = '=';
    at = std::to_chars(at, text_.data() + text_.size(), ::getpid()).ptr;
    *at++ = '.';
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    at = std::to_chars(at, text_.data() + text_.size() - 1, now).ptr;
    size_ = static_cast<std::size_t>(at - text_.data());
}

SOTTO_DECL std::string_view job_mark::value() const noexcept {
    return std::string_view(text_.data(), size_).substr(name.size() + 1);
}

SOTTO_DECL std::span<pid_t> job_mark::find(std::span<pid_t> room) const noexcept {
    using sotto::detail::open_file;
    const auto folder = open_file("/proc", O_RDONLY | O_DIRECTORY);
    if (!folder) return {};
    std::size_t found = 0;
    std::array<char, 4096> entries;
    long count = 0;
    while ((count = ::syscall(SYS_getdents64, folder.handle(), entries.data(), entries.size())) > 0)
        for (long at = 0; at < count && found < room.size();) {
            // Layout of the kernel: two numbers of 8 bytes, the size, a type, the name.
            const char* const entry = entries.data() + at;
            unsigned short size = 0;
            std::memcpy(&size, entry + 16, sizeof size);
            const std::string_view id = entry + 19;
            pid_t number = 0;
            if (std::from_chars(id.data(), id.data() + id.size(), number).ec == std::errc() &&
                is_on(id))
                room[found++] = number;
            at += size;
        }
    return room.first(found);
}

SOTTO_DECL bool job_mark::is_on(std::string_view process) const noexcept {
    static constexpr std::string_view before = "/proc/", after = "/environ";
    std::array<char, 48> path{};
    if (before.size() + process.size() + after.size() >= path.size()) return false;
    char* at = std::copy(before.begin(), before.end(), path.data());
    at = std::copy(process.begin(), process.end(), at);
    std::copy(after.begin(), after.end(), at);
    const auto file = sotto::detail::open_file(path.data(), O_RDONLY);
    if (!file) return false;
    // Includes the terminating 0. The possible start of a match is kept for the next piece.
    const std::string_view wanted(text_.data(), size_ + 1);
    std::array<char, 4096> piece;
    std::size_t kept = 0;
    bool found = false;
    while (!found) {
        const ssize_t count = sotto::detail::uninterrupted(
            [&] { return ::read(file.handle(), piece.data() + kept, piece.size() - kept); });
        if (count <= 0) break;
        const std::string_view all(piece.data(), kept + static_cast<std::size_t>(count));
        found = all.find(wanted) != all.npos;
        kept = (std::min)(all.size(), wanted.size() - 1);
        std::memmove(piece.data(), all.data() + all.size() - kept, kept);
    }
    return found;
}

}  // namespace sotto::detail::launch
